#pragma once
// When a qualification ends by time. The leader proposes `expire` at the hour; an ingress shuts the
// gate by its own clock a grace later, should no leader be there to say so.

#include "src/base/clock.hpp"
#include "src/base/limits.hpp"

#include <chrono>

namespace assay::qualification {

inline wall_ms expires_at(wall_ms qualified_at, std::chrono::seconds valid_for) {
  return {qualified_at.value + std::chrono::milliseconds{valid_for}.count()};
}

/// For the leader: propose `expire` now. The hour itself is already too late.
inline bool is_expired(wall_ms now, wall_ms expires) {
  return now >= expires;
}

/// For an ingress, whose clock may be ahead of the leader's.
inline bool is_surely_expired(wall_ms now, wall_ms expires) {
  return now.value >= expires.value + std::chrono::milliseconds{limits::expiry_grace}.count();
}

} // namespace assay::qualification
