#pragma once
// When a member whose copy of the ledger is damaged takes a whole state from the leader, and what a
// person is told of it (docs/decisions/0020). Pure: what is known and the time go in.

#include "src/ledger/audit.hpp"
#include "src/store/ledger_engine.hpp"

#include <string>

namespace assay::app {

class mending {
public:
  static constexpr unsigned most = 3; ///< In a process's life: then the disk is to blame.
  /// The others hear of the damage first. So long after the first try, and twice as long each time
  /// up to `longest_pause`: a disk without room for a second state is filled with one each time.
  static constexpr auto pause = std::chrono::seconds{3};
  static constexpr auto longest_pause = 16 * pause;

  /// It is damaged from now on.
  void found(steady_time at) {
    next_pause_ = pause;
    next_ = at + pause;
  }

  /// Whether to begin now. `is_leader_sound`: it is reached, and does not say that it is damaged.
  bool is_due(const store::engine_status& now, bool is_leader_sound, steady_time at);

  /// A whole state took the place of the damaged one.
  void ended() { ++times_; }
  unsigned times() const { return times_; }

  /// What is wrong, what is done about it, and what to do.
  std::string text(const std::string& damage, const store::engine_status& now) const;

private:
  unsigned times_ = 0;
  steady_time next_;
  std::chrono::seconds next_pause_ = pause;
};

} // namespace assay::app
