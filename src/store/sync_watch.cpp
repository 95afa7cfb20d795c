#include "src/store/sync_watch.hpp"

#include "src/base/peer_limits.hpp"

#include <algorithm>
#include <vector>

namespace assay::store {

void sync_watch::note(time at, std::chrono::nanoseconds took) {
  if (readings_.size() >= limits::sync_readings)
    readings_.pop_front();
  readings_.push_back({at, took});
  if (at < looked_at_ + limits::sync_look)
    return;
  looked_at_ = at;
  while (readings_.front().at + limits::sync_window < at)
    readings_.pop_front();
  if (readings_.size() < limits::sync_least) {
    middle_ = {};
    return;
  }
  std::vector<std::chrono::nanoseconds> all;
  all.reserve(readings_.size());
  for (const auto& one : readings_)
    all.push_back(one.took);
  auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  middle_ = std::chrono::ceil<std::chrono::milliseconds>(*middle);
}

std::chrono::milliseconds
fresh(std::chrono::milliseconds middle, sync_watch::time looked_at, sync_watch::time now) {
  return now - looked_at > limits::sync_window ? std::chrono::milliseconds{0} : middle;
}

} // namespace assay::store
