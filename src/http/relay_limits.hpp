#pragma once
// How long the ingress waits for a replica, step by step. An operator may set each
// (`ingress: {limits: ...}` in the configuration).

#include "src/base/limits.hpp"

#include <chrono>

namespace assay::http {

struct relay_limits {
  std::chrono::milliseconds connect = limits::connect_timeout;
  /// From the whole request sent to the first content, whatever heads, roles and comments come
  /// before it.
  std::chrono::milliseconds first_token = limits::first_byte_timeout;
  std::chrono::milliseconds gap = limits::gap_timeout;     ///< Between two pieces, after that.
  std::chrono::milliseconds total = limits::total_timeout; ///< Queue and all attempts together.
};

} // namespace assay::http
