#pragma once
// How long a synced write of the log takes here, of late. Pure: readings go in.
//
// The middle one of the last seconds: a single sync that took long says nothing of the disk.

#include <chrono>
#include <deque>

namespace assay::store {

class sync_watch {
public:
  using time = std::chrono::steady_clock::time_point;

  /// A write that ended at `at` took so long. Cheap: the middle is found twice a second.
  void note(time at, std::chrono::nanoseconds took);

  /// As of the last look; 0 while there were too few.
  std::chrono::milliseconds middle() const { return middle_; }
  time looked_at() const { return looked_at_; }

private:
  struct reading {
    time at;
    std::chrono::nanoseconds took;
  };

  std::deque<reading> readings_; ///< Oldest first.
  std::chrono::milliseconds middle_{0};
  time looked_at_;
};

/// What a look is worth at `now`: 0 when it is old, for a disk that nothing is written to is not
/// known to be slow.
std::chrono::milliseconds
fresh(std::chrono::milliseconds middle, sync_watch::time looked_at, sync_watch::time now);

} // namespace assay::store
