#pragma once
// Tries a bound fabric socket with a key that nobody allowed. A CURVE server whose ZAP handler is
// not asked lets every key in, silently; this is how a hub finds out before it serves.

#include "src/fabric/sockets.hpp"

#include <chrono>

namespace assay::fabric {

enum class probe_outcome : std::uint8_t { refused, let_in, no_answer };

/// Blocks for at most `patience`.
probe_outcome probe_with_unknown_key(
  const context& from,
  const std::string& endpoint,
  const public_key& server,
  std::chrono::milliseconds patience
);

/// Where to dial a socket that is bound to `endpoint`.
std::string dial_of(std::string endpoint);

} // namespace assay::fabric
