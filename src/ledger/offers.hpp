#pragma once
// What runtime profiles offer, for the snapshots of an ingress: each profile's text is read once
// and not at every snapshot, because the snapshot before holds what was read. Pure.

#include "src/catalog/declarations.hpp"
#include "src/routing/snapshot.hpp"

#include <map>

namespace assay::ledger {

class profile_offers {
public:
  /// `before` may be null.
  explicit profile_offers(const routing::routing_snapshot* before);

  /// Operations, as bits.
  routing::bits of(const catalog::profile_document& d);

private:
  std::map<digest, routing::bits> known_; ///< By the digest of the profile's text.
};

} // namespace assay::ledger
