#pragma once
// The words that describe one running copy of an implementation.

#include "src/base/ids.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::pool {

/// The life of a replica, as its agent reports it. `gone` is final for a generation.
enum class phase : std::uint8_t {
  absent, ///< Asked for, not heard of yet.
  starting,
  loading,
  proving,
  ready,
  saturated, ///< Ready, and says itself that it is full.
  suspect,   ///< Answers that nothing classifies, or none: no new requests.
  draining,
  stopping,
  gone,
};

std::string_view name(phase p);
std::optional<phase> parse_phase(std::string_view text);

/// Requests may be sent to it, as far as the agent can tell.
bool serves(phase p);

/// It holds devices: everything but `gone`.
bool holds_devices(phase p);

/// An endpoint is an address and the generation of the replica behind it: a new replica on an old
/// port is another endpoint.
struct endpoint_key {
  std::string address; ///< `IP:PORT`
  std::uint64_t generation = 0;

  friend auto operator<=>(const endpoint_key&, const endpoint_key&) = default;
};

} // namespace assay::pool
