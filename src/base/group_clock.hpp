#pragma once
// Wall time as most of a group have it. An ingress whose own clock is an hour ahead must not let
// waivers and evaluations end an hour early.

#include "src/base/clock.hpp"

#include <atomic>
#include <cstdint>

namespace assay {

/// Read by any thread at each request, corrected by whoever compares clocks.
class group_clock {
public:
  wall_ms now() const { return {wall_now().value - error_ms()}; }

  std::int64_t error_ms() const { return error_ms_.load(std::memory_order_relaxed); }

  /// How far our own clock is ahead of the others', in ms; 0 while it is right or nobody can say.
  void correct(std::int64_t error_ms) { error_ms_.store(error_ms, std::memory_order_relaxed); }

private:
  std::atomic<std::int64_t> error_ms_ = 0;
};

} // namespace assay
