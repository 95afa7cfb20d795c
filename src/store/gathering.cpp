#include "src/store/gathering.hpp"

#include "src/base/limits.hpp"

#include <algorithm>

namespace assay::store {

void gathering::committed(
  std::size_t answered, std::size_t waiting, std::chrono::nanoseconds took, time now
) {
  const auto all = std::min(answered + waiting, limits::batch_entries);
  least_ = 1;
  until_ = now;
  if (all < 2 || answered == 0)
    return;
  if (skipped_ > 0) {
    --skipped_;
    return;
  }
  least_ = all - all / 8; // The last few are not worth it.
  until_ = now + std::min<std::chrono::nanoseconds>(2 * took, limits::gather_longest);
}

void gathering::sealed(std::size_t count) {
  if (least_ < 2)
    return;
  in_vain_ = count >= least_ ? 0 : std::min(2 * in_vain_ + 1, limits::gather_skipped);
  skipped_ = in_vain_;
  least_ = 1;
}

} // namespace assay::store
