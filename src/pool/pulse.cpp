#include "src/pool/pulse.hpp"

#include <utility>

namespace assay::pool {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;

std::int64_t to_ns(steady_time t) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}

} // namespace

vital_signs pulse::look() const {
  auto waiting = waiting_.load(std::memory_order_acquire);
  auto moved = std::chrono::nanoseconds{moved_ns_.load(relaxed)};
  return {
    .waiting = waiting,
    .streaming = streaming_.load(relaxed),
    .owed = std::chrono::microseconds{owed_us_.load(relaxed)},
    .moved = steady_time{std::chrono::duration_cast<steady_time::duration>(moved)},
  };
}

request_at::request_at(pulse& p, std::chrono::microseconds expected, steady_time now)
  : pulse_{&p}, owed_us_{expected.count()} {
  // An idle endpoint is not silent: its silence begins with the first request. Who sees that one
  // waiting sees when it came.
  if (p.waiting_.load(relaxed) == 0 && p.streaming_.load(relaxed) == 0)
    p.moved_ns_.store(to_ns(now), relaxed);
  p.owed_us_.fetch_add(owed_us_, relaxed);
  p.waiting_.fetch_add(1, std::memory_order_release);
}

request_at::request_at(request_at&& other) noexcept
  : pulse_{std::exchange(other.pulse_, nullptr)}, owed_us_{other.owed_us_}, streams_{
                                                                              other.streams_} {}

request_at& request_at::operator=(request_at&& other) noexcept {
  if (this != &other) {
    leave();
    pulse_ = std::exchange(other.pulse_, nullptr);
    owed_us_ = other.owed_us_;
    streams_ = other.streams_;
  }
  return *this;
}

void request_at::moved(steady_time now) {
  if (!pulse_)
    return;
  pulse_->moved_ns_.store(to_ns(now), relaxed);
  if (std::exchange(streams_, true))
    return;
  pulse_->streaming_.fetch_add(1, relaxed);
  pulse_->waiting_.fetch_sub(1, relaxed);
  pulse_->owed_us_.fetch_sub(owed_us_, relaxed);
}

void request_at::leave() {
  auto* p = std::exchange(pulse_, nullptr);
  if (!p)
    return;
  if (std::exchange(streams_, false)) {
    p->streaming_.fetch_sub(1, relaxed);
    return;
  }
  p->waiting_.fetch_sub(1, relaxed);
  p->owed_us_.fetch_sub(owed_us_, relaxed);
}

} // namespace assay::pool
