#pragma once
// How many proposals the next batch waits for. Pure: what happened goes in.
//
// Who asks together is answered together, for one signature, one sync and one round of messages.
// Of those who were just answered, most ask again at once where work is done in a closed loop; with
// those who came meanwhile they make one batch instead of two that take turns for ever. Where
// nobody comes back waiting only delays, so after each wait in vain more batches go without one.

#include <chrono>
#include <cstddef>

namespace assay::store {

class gathering {
public:
  using time = std::chrono::steady_clock::time_point;

  /// A batch is committed, `took` after it was sealed: `answered` asked for it, and `waiting` more
  /// have come since.
  void
  committed(std::size_t answered, std::size_t waiting, std::chrono::nanoseconds took, time now);

  /// The next batch is sealed with as many.
  void sealed(std::size_t count);

  /// So many are enough to seal at `now`, at least 1.
  std::size_t least(time now) const { return now < until_ ? least_ : 1; }
  /// When fewer are enough, too.
  time until() const { return until_; }

private:
  std::size_t least_ = 1;
  time until_;
  unsigned in_vain_ = 0; ///< Batches that went without a wait after the last one in vain.
  unsigned skipped_ = 0; ///< Of them still to come.
};

} // namespace assay::store
