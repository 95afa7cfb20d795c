#pragma once
// Which implementation and which of its endpoints serves this request, or why none does.
//
// `route` is pure but for one thing: it takes a credit on the endpoint it chose, so that choosing
// and counting are one step. Chance and time are handed in. No allocation on the way to a choice.

#include "src/base/limits.hpp"
#include "src/routing/gates.hpp"
#include "src/routing/trace.hpp"

#include <bitset>

namespace assay::routing {

/// Where evaluation traffic is bound to (`x-assay-pin`).
struct pin {
  std::string_view implementation;     ///< Its id.
  std::optional<digest> fingerprint{}; ///< Only endpoints on this stack.
};

struct query {
  std::string_view model; ///< As the client wrote it: `NAME` or `NAME@VERSION`.
  routing::caller caller;
  const contract::shape& shape;
  std::optional<routing::pin> pin{};
  std::span<const pool::endpoint_key> tried{}; ///< Endpoints that failed this very request.
  std::uint64_t chance = 0;                    ///< 64 fresh random bits.
  std::chrono::milliseconds patience = limits::queue_wait; ///< How long it would wait for a turn.
  steady_time now{};
  wall_ms wall{};
};

/// Implementations of the decision's model, by position in `model::implementations`.
using implementation_set = std::bitset<limits::implementations_per_model>;

/// Pointers are good as long as the snapshot is.
struct decision {
  outcome_kind outcome = outcome_kind::refused;

  // chosen
  const routing::model* model = nullptr; ///< Also set otherwise, once the model is known.
  const routing::implementation* implementation = nullptr;
  const routing::endpoint* endpoint = nullptr;
  pool::reservation reservation;

  // needs_ticket: ask the coordinators of these implementations' pools.
  implementation_set acceptable;

  // refused
  contract::failure failure = contract::failure::internal_error;
  verdict nearest;
  std::uint32_t nearest_implementation = none;
  std::uint32_t retry_after_seconds = 0; ///< 0: no header.

  decision_trace trace;
};

decision route(const routing_snapshot& s, const query& q);

/// After a ticket was admitted on `where`: takes the credit that the queue kept for this request.
/// Gates are asked again, since the snapshot may be newer. `needs_ticket` means: ask again, keeping
/// the ticket's number and so its place.
decision claim(const routing_snapshot& s, const query& q, const pool::endpoint_key& where);

/// Ids of `d.acceptable`, for the ticket.
std::vector<implementation_id> acceptable_ids(const routing_snapshot& s, const decision& d);

/// Endpoints of those that this request may not use (tried, or not on a qualified stack), for the
/// ticket.
std::vector<pool::endpoint_key>
excluded_endpoints(const routing_snapshot& s, const query& q, const decision& d);

/// The message of a refusal, for the error body: what happened, with the numbers.
std::string refusal_text(const routing_snapshot& s, const query& q, const decision& d);

} // namespace assay::routing
