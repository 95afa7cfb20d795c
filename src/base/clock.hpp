#pragma once
// Time is handed in. Decisions take time points as arguments; only edges own a clock.

#include <chrono>
#include <cstdint>

namespace assay {

using steady_time = std::chrono::steady_clock::time_point;

/// Milliseconds since 1970 UTC: what people and records call time. Only the ledger's leader stamps
/// records.
struct wall_ms {
  std::int64_t value = 0;

  friend auto operator<=>(const wall_ms&, const wall_ms&) = default;
};

inline wall_ms wall_now() {
  auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

} // namespace assay
