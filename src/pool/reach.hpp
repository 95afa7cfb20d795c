#pragma once
// Whether an ingress may send its requests, with the replica's secret, to where a replica listens.
//
// A replica on loopback is another server, or none, on every other host; and what goes from host to
// host without TLS is for the pool's declaration to accept.

#include "src/pool/view.hpp"

#include <cstdint>
#include <string_view>

namespace assay::pool {

enum class reach : std::uint8_t {
  reached,
  plaintext_refused,  ///< The ingress is on another host and the pool accepts no clear traffic.
  loopback_elsewhere, ///< It listens on the loopback of another host.
};

/// `here` is `own_loopback` of the ingress. Where a replica's host or `here` is not told, as by an
/// older agent or leader, it counts as reached.
reach reach_of(const replica_view& r, bool plaintext_accepted, std::string_view here);

/// What is wrong and what to do; for `reached` it is empty.
std::string_view why_unreached(reach r);

} // namespace assay::pool
