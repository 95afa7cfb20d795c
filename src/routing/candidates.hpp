#pragma once
// The implementations that may serve one request, with their best endpoint and their share.
//
// `route` and `explain` both look through this, so that they cannot disagree. Everything lives on
// the stack; nothing is reserved here.

#include "src/routing/route.hpp"
#include "src/routing/shares.hpp"

#include <array>

namespace assay::routing {

/// The query as every gate sees it. Refers to `q`, which must outlive it.
question question_of(const routing_snapshot& s, const query& q, const model& m);

/// The caller's key lists this model, or any.
bool may_use_model(const routing_snapshot& s, const caller& c, const model& m);

/// What looking over an implementation's endpoints showed. Of those with room the best, else of all
/// usable ones.
struct survey {
  const routing::endpoint* best;
  std::uint32_t usable;
  std::uint32_t room; ///< Of the best.
  std::uint32_t in_flight;
  prediction predicted;
  pool::standing standing; ///< Of the best.
  bool explored;           ///< The best is a new or returned one, taken for its warm-up share.
  bool avoided;            ///< One was left out that would have been looked at.
};

/// `chance` breaks ties and decides who gets a warm-up share.
survey look_over(const question& q, const implementation& i, std::uint64_t chance);

/// Seconds until a request that joined the queue of `i` now would get its turn, by what its usable
/// endpoints were seen to finish; none where that is not known of all of them.
std::optional<double> expected_wait(const question& q, const implementation& i);

/// Without initialisers, like `portion`.
struct candidate {
  const routing::implementation* implementation;
  survey seen;
  std::uint16_t waived; ///< Gates that only a waiver let through (`bits`).
};

struct field {
  std::array<candidate, limits::implementations_per_model> candidates; ///< The first `count`.
  std::array<portion, limits::implementations_per_model> portions;     ///< Likewise, beside them.
  std::size_t count = 0;
  bool lacks_evidence = false; ///< Gate 4 or 5 refused somebody.
  std::uint32_t unserved = 0;  ///< Basis points that hard ceilings leave to nobody.

  std::span<portion> all() { return std::span{portions}.first(count); }
};

/// Fills `f` with what passes all gates and has a usable endpoint, and notes each refusal in `d`.
/// Without any, the compatibility pools are asked, if evidence was what was missing.
void gather(const question& q, const query& asked, const model_route* r, field& f, decision& d);

/// Ranks the candidates by the route's policy and gives each its share.
void weigh(const question& q, const query& asked, const model_route* r, field& f, decision& d);

} // namespace assay::routing
