#pragma once
// Who may speak on the fabric, as the ledger's tables say.

#include "src/base/clock.hpp"
#include "src/fabric/hub.hpp"
#include "src/fabric/peer_links.hpp"
#include "src/ledger/tables.hpp"

#include <map>
#include <vector>

namespace assay::app {

/// Hosts that are not revoked, and the open join tokens at `now` (a token's id is its public key).
std::vector<fabric::admitted> allow_list_of(const ledger::tables& t, wall_ms now);

/// The members without `self` whose key is not revoked. A separate ingress has nothing to say to
/// another one.
std::vector<peers::peer> peers_of(const ledger::tables& t, std::uint64_t self);

/// Who is named with a new key is known by the old one for `limits::key_change_grace` more, so that
/// it hears by that one that it is named so.
class key_grace {
public:
  /// `known` are let in now, `named` next: it has the old key of whoever is still held.
  void
  hold(const std::vector<peers::peer>& known, std::vector<peers::peer>& named, steady_time now);

private:
  struct change {
    fabric::public_key to;
    steady_time since;
  };
  std::map<std::uint64_t, change> changes_;
};

} // namespace assay::app
