#pragma once
// Who may speak on the fabric, as the ledger's tables say.

#include "src/fabric/hub.hpp"
#include "src/fabric/peer_links.hpp"
#include "src/ledger/tables.hpp"

#include <vector>

namespace assay::app {

/// Hosts that are not revoked, and the open join tokens at `now` (a token's id is its public key).
std::vector<fabric::admitted> allow_list_of(const ledger::tables& t, wall_ms now);

/// The members without `self` whose key is not revoked. A separate ingress has nothing to say to
/// another one.
std::vector<peers::peer> peers_of(const ledger::tables& t, std::uint64_t self);

} // namespace assay::app
