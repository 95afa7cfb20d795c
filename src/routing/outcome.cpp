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
  case ending::rejected:
    return "rejected";
  case ending::overloaded:
    return "overloaded";
  }
  return "failed";
}

ending ending_of_status(int status) {
  if (status < 400)
    return ending::served;
  switch (status) {
  case 429:
  case 503:
    return ending::overloaded;
  case 401: // The secret is ours, and so is the proxy between, if there is one.
  case 403:
  case 407:
  case 408: // We send the whole request at once.
    return ending::failed;
  default:
    return status < 500 ? ending::rejected : ending::failed;
  }
}

std::optional<lesson> lesson_of(const outcome& o) {
  // An error answer is quick and a cut one is short: neither says how fast the endpoint works.
  if (o.how != ending::served || o.status >= 300 || o.endpoint.address.empty())
    return {};
  if (o.replica.total == std::chrono::microseconds{})
    return {};
  // Several sequences at a time are faster together than one, so they teach nothing about one.
  if (o.sequences > 1)
    return {};
  return lesson{
    .input_tokens = o.usage.input_tokens,
    .cached_tokens = o.usage.cached_tokens,
    .output_tokens = o.usage.output_tokens,
    .ttft = o.replica.first,
    .total = o.replica.total,
    .in_flight = o.in_flight,
    .contents = o.replica.contents,
    .held_up = o.replica.held_up,
  };
}

} // namespace assay::routing
