#pragma once
// Does the wall clock still run like the boot clock? A cluster of one has no other clocks to ask.
//
// Pure: readings go in. The boot clock never jumps and counts time asleep, so when the distance
// between the two changes by more than `limits::clock_jump` from one reading to the next, the wall
// clock was set. Slow slewing passes.

#include "src/base/clock.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace assay::store {

class clock_watch {
public:
  /// Take a reading at least once a second.
  void observe(wall_ms wall, std::chrono::milliseconds boot);

  bool is_trusted() const { return text_.empty(); }

  /// What happened and what to do; empty while trusted.
  const std::string& text() const { return text_; }

  /// A person has looked at it.
  void trust() { text_.clear(); }

private:
  std::optional<std::int64_t> distance_ms_;
  std::string text_;
};

/// The stamp of the next batch: the wall clock's time, but always later than the last one.
inline wall_ms next_stamp(wall_ms wall, wall_ms last) {
  return wall > last ? wall : wall_ms{last.value + 1};
}

} // namespace assay::store
