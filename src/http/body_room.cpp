#include "src/http/body_room.hpp"

#include "src/base/limits.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace assay::http {

bool body_room::take(std::size_t bytes) {
  auto before = held_.fetch_add(bytes, std::memory_order_relaxed);
  if (before + bytes <= most_)
    return true;
  held_.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

void body_room::give(std::size_t bytes) {
  held_.fetch_sub(bytes, std::memory_order_relaxed);
  given_.fetch_add(bytes, std::memory_order_relaxed);
}

std::chrono::seconds body_room::wait_for(std::size_t bytes) const {
  auto rate = rate_.load(std::memory_order_relaxed);
  if (rate < 1)
    return limits::retry_after_default;
  auto wanted = held() + bytes;
  auto missing = wanted > most_ ? wanted - most_ : 0;
  auto most = static_cast<double>(limits::retry_after_max.count());
  auto seconds = std::clamp(std::ceil(static_cast<double>(missing) / rate), 1.0, most);
  return std::chrono::seconds{static_cast<long>(seconds)};
}

void body_room::pass(steady_time now) {
  auto given = given_.load(std::memory_order_relaxed);
  auto more = given - std::exchange(seen_, given);
  auto elapsed = now - std::exchange(passed_, now);
  if (elapsed == now.time_since_epoch() || elapsed <= steady_time::duration{})
    return; // The first one only sets the mark.
  constexpr double kept = 0.7;
  auto latest = static_cast<double>(more) / std::chrono::duration<double>(elapsed).count();
  auto before = rate_.load(std::memory_order_relaxed);
  rate_.store(
    before == 0 ? latest : kept * before + (1 - kept) * latest, std::memory_order_relaxed
  );
}

bool body_budget::hold(std::size_t bytes) {
  if (bytes <= held_)
    return true;
  if (!room_.take(bytes - held_))
    return false;
  held_ = bytes;
  return true;
}

void body_budget::release() {
  if (auto held = std::exchange(held_, 0); held > 0)
    room_.give(held);
}

} // namespace assay::http
