// What a refused caller is told.

#include "src/routing/route.hpp"

namespace assay::routing {

using contract::failure;

std::string refusal_text(const routing_snapshot& s, const query& q, const decision& d) {
  auto model = std::string{q.model};
  switch (d.failure) {
  case failure::model_not_found:
    return "model '" + model + "' does not exist; GET /v1/models lists the models of this key";
  case failure::model_not_allowed:
    return "this key may not use model '" + model
           + "'; ask the owner of the project to add it to the key's models";
  case failure::invalid_request:
    if (q.pin)
      return "'" + std::string{q.pin->implementation} + "' is no implementation of model '" + model
             + "' that this key may be pinned to; only evaluation traffic is pinned";
    return "evaluation traffic names its implementation in x-assay-pin";
  case failure::rate_limited:
    return "this key has as many requests in flight as it may; wait for one to end";
  default:
    break;
  }
  if (d.nearest_implementation == none)
    return "no implementation of model '" + model
           + "' carries its traffic now: none was promoted, or the promotion was reversed; see "
             "'assay history "
           + model + "' and 'assay describe model " + model + "'";
  const auto& i = s.implementations()[d.nearest_implementation];
  auto text = "no implementation of model '" + model
              + "' may serve this request; nearest: " + i.id.value + ", gate "
              + std::string{name(d.nearest.gate)} + ": " + to_text(d.nearest);
  // A status is lost with the evidence, which is the reason that people look for.
  auto lost = d.nearest.reason == reason::class_not_admitted && !i.why_not_current.empty();
  return lost ? text + ": " + i.why_not_current : text;
}

} // namespace assay::routing
