#include "src/ledger/offers.hpp"

#include "src/catalog/profile.hpp"

namespace assay::ledger {

profile_offers::profile_offers(const routing::routing_snapshot* before) {
  if (before)
    for (const auto& i : before->implementations())
      known_.emplace(i.profile, i.operations);
}

routing::bits profile_offers::of(const catalog::profile_document& d) {
  auto [at, is_new] = known_.try_emplace(d.sha256, routing::usual_operations());
  if (!is_new)
    return at->second;
  auto read = catalog::parse_profile(d.name.value, d.text);
  if (!read)
    return at->second; // An older release took it; what it offered then was the usual.
  at->second = {};
  for (auto operation : read->api.offers)
    at->second.add(operation);
  return at->second;
}

} // namespace assay::ledger
