#pragma once
// Which endpoints an ingress leaves alone, and for how long: breaker, stall and wedge, and engines
// that say that they are full.
//
// Pure: how attempts ended and what the endpoints' signs of life are goes in, a ruling for each
// endpoint comes out. What is too long a silence follows from what the endpoint itself was seen to
// take; where nothing is known yet the longest patience holds. Never more than half of the
// endpoints that stand in for each other are left out: when most of them look ill, it is the
// judgement that is.

#include "src/pool/counters.hpp"
#include "src/routing/outcome.hpp"
#include "src/routing/snapshot.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace assay::routing {

/// One endpoint as it is now.
struct patient {
  pool::endpoint_key key;
  std::uint32_t group = 0; ///< Those of one group stand in for each other.
  pool::vital_signs signs;
  std::optional<std::chrono::microseconds> gap; ///< Between contents of a stream; none: not known.
  std::uint32_t in_flight = 0;
  std::uint32_t tokens = pool::no_limit; ///< Requests that the last ruling still lets in.
  bool is_heard_of = true;               ///< Its agent reports.
};

struct ruling {
  pool::endpoint_key key;
  pool::admission what;

  friend bool operator==(const ruling&, const ruling&) = default;
};

/// Every endpoint that serves from here. Those of one model stand in for each other; `silent` are
/// hosts whose agents do not report.
std::vector<patient> patients_in(const routing_snapshot& s, const std::set<host_id>& silent);

/// How long these signs may stand still before it is a stall or a wedge.
std::chrono::microseconds patience_with(const patient& p);

class health_table {
public:
  /// How an attempt at the endpoint ended. `retry_after`: what its engine asked for; 0: nothing.
  /// True: `rule` is due.
  bool learn(
    const pool::endpoint_key& where, ending how, std::chrono::seconds retry_after, steady_time now
  );

  /// One for each patient, in their order. Endpoints that are not among them are forgotten.
  std::vector<ruling> rule(std::span<const patient> all, steady_time now);

private:
  struct state {
    double trouble = 0; ///< Failures, each worth less with every attempt after it.
    std::uint32_t openings = 0;
    std::optional<steady_time> open_until;
    std::optional<steady_time> probed_at; ///< Half open since.
    std::optional<steady_time> full_until;
    std::optional<steady_time> silent_since;
    std::optional<steady_time> out_since;
    steady_time warm_since{};
    std::uint32_t served = 0; ///< Since then.
  };

  static void open(state& s, steady_time now);
  static void warm(state& s, steady_time now);
  static pool::admission look_at(state& s, const patient& p, steady_time now);
  void forget_others(std::span<const patient> all);

  std::map<pool::endpoint_key, state> states_;
};

} // namespace assay::routing
