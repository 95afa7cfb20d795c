#include "src/store/clock_watch.hpp"

#include "src/base/limits.hpp"

#include <cstdlib>

namespace assay::store {

void clock_watch::observe(wall_ms wall, std::chrono::milliseconds boot) {
  const auto distance = wall.value - boot.count();
  const auto jump = distance - distance_ms_.value_or(distance);
  distance_ms_ = distance;
  if (std::chrono::milliseconds{std::abs(jump)} <= limits::clock_jump)
    return;
  text_ = "the wall clock jumped " + std::to_string(std::abs(jump)) + " ms "
          + (jump > 0 ? "forward" : "back")
          + "; nothing expires until somebody has checked the time and accepted it: assay cluster "
            "trust-clock --reason WHY";
}

} // namespace assay::store
