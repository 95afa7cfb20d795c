#include "src/app/clocks.hpp"

#include "src/base/peer_limits.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace assay::app {

namespace {

/// Of all clocks less ours, ours being 0; of an even number the middle one nearer to 0.
std::int64_t median_of(const clock_offsets& others) {
  std::vector<std::int64_t> all{0};
  for (const auto& [node, offset] : others)
    all.push_back(offset);
  std::ranges::sort(all);
  auto upper = all[all.size() / 2];
  auto lower = all[(all.size() - 1) / 2];
  return std::abs(upper) < std::abs(lower) ? upper : lower;
}

} // namespace

std::int64_t own_clock_error(const clock_offsets& others) {
  if (others.size() < 2)
    return 0;
  auto error = -median_of(others);
  return std::chrono::milliseconds{std::abs(error)} > limits::clock_spread ? error : 0;
}

std::uint64_t best_clock(const clock_offsets& others) {
  auto median = median_of(others);
  auto best = std::ranges::min_element(others, {}, [median](const auto& one) {
    return std::abs(one.second - median);
  });
  return best == others.end() ? 0 : best->first;
}

} // namespace assay::app
