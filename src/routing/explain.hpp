#pragma once
// Every gate for every implementation, for a hypothetical request or a remembered decision.
//
// `explain` asks the same functions as `route` does and reserves nothing, so it cannot disagree
// with it about the same snapshot.

#include "src/routing/route.hpp"

#include <string>
#include <utility>
#include <vector>

namespace assay::routing {

struct explained_gate {
  verdict what;
  std::string text;   ///< The sentence with its numbers.
  std::string waiver; ///< Its id, when one was used.
};

struct explained_endpoint {
  std::string replica;
  std::string host;
  std::string phase;
  std::string standing; ///< How this ingress stands to it.
  bool usable = false;
  std::string why; ///< Why it is not usable, or what it is predicted to take.
  std::uint32_t in_flight = 0;
  std::uint32_t credits = 0;
};

struct explained_implementation {
  implementation_id id;
  pool_id pool;
  std::string status;
  std::optional<share> in_route; ///< As stored; `share_bps` is what it gets now.
  std::uint32_t share_bps = 0;
  bool eligible = false;
  std::vector<explained_gate> gates; ///< All eight, in order.
  std::vector<explained_endpoint> endpoints;
  std::string predicted; ///< `0.420 s`, or why there is no prediction.
};

struct explanation {
  std::string model; ///< As asked and as resolved.
  std::string policy;
  std::uint64_t route_generation = 0;
  std::string outcome; ///< One sentence: chosen, would wait, or refused with category and numbers.
  std::vector<explained_implementation> implementations;
  std::vector<std::string> notes;   ///< Waivers, `cost acts as latency`, compatibility pool, ...
  std::vector<std::string> signals; ///< `portable: ...`
};

explanation explain(const routing_snapshot& s, const query& q);

/// A sentence for each host whose replicas serve but are out of this ingress's reach, and why.
std::vector<std::string> out_of_reach(const routing_snapshot& s);

/// A shape of the operation, or without one of what the model's task is usually asked by.
contract::shape
asked_by(const model& m, contract::shape shape, std::optional<contract::operation> operation);

/// For terminals.
std::vector<std::string> to_lines(const explanation& e);

/// Flat names and values for JSON: `implementations.0.gates.within_limits.answer` and so on.
using name_value = std::pair<std::string, std::string>;
std::vector<name_value> to_pairs(const explanation& e);

/// A remembered decision, from what the ring holds alone.
std::vector<name_value> to_pairs(const decision_ring::entry& e);
std::vector<std::string> to_lines(const decision_ring::entry& e);

} // namespace assay::routing
