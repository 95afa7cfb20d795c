#include "src/routing/outcome.hpp"

namespace assay::routing {

std::string_view name(ending e) {
  switch (e) {
  case ending::served:
    return "served";
  case ending::refused:
    return "refused";
  case ending::failed:
    return "failed";
  case ending::client_gone:
    return "client_gone";
  }
  return "failed";
}

std::optional<lesson> lesson_of(const outcome& o) {
  // An error answer is quick and a cut one is short: neither says how fast the endpoint works.
  if (o.how != ending::served || o.status >= 300 || o.endpoint.address.empty())
    return {};
  // Several sequences at a time are faster together than one, so they teach nothing about one.
  if (o.sequences > 1)
    return {};
  return lesson{
    .input_tokens = o.usage.input_tokens,
    .cached_tokens = o.usage.cached_tokens,
    .output_tokens = o.usage.output_tokens,
    .ttft = o.ttft,
    .total = o.total,
    .in_flight = o.in_flight,
  };
}

} // namespace assay::routing
