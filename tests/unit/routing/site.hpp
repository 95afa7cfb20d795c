#pragma once
// A small site to route in: one model, as many implementations as a test wants, all in order until
// the test spoils something.

#include "src/routing/route.hpp"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace assay::test {

using namespace std::chrono_literals;

inline const auto noon = steady_time{} + 12h;
inline constexpr auto today = wall_ms{1'700'000'000'000};
inline const auto good_stack = sha256(std::string_view{"good stack"});
inline const auto other_stack = sha256(std::string_view{"other stack"});

inline routing::bits serving_classes() {
  routing::bits classes;
  classes.add(contract::traffic_class::interactive);
  classes.add(contract::traffic_class::batch);
  return classes;
}

inline routing::implementation good_implementation(const std::string& id) {
  return {
    .id = {id},
    .pool = {"pool-" + id},
    .artifact_verified = true,
    .status = "production",
    .admits = serving_classes(),
    .envelope = routing::envelope{.input_tokens = 1'000, .output_tokens = 500},
    .evaluation = routing::evaluation_state::current,
    .qualified_fingerprints = {good_stack},
  };
}

class site {
public:
  struct spec {
    routing::implementation implementation;
    std::uint32_t floor = 0;
    std::uint32_t ceiling = 10'000;
    bool hard = false;
    bool in_route = true;
    std::vector<routing::endpoint> endpoints;
  };

  /// Adds an implementation with one good endpoint of `credits`.
  spec& add(const std::string& id, std::uint32_t credits = 4) {
    specs.push_back({.implementation = good_implementation(id)});
    endpoint(specs.back(), credits);
    return specs.back();
  }

  routing::endpoint& endpoint(spec& s, std::uint32_t credits = 4) {
    auto port = static_cast<std::uint16_t>(7200 + ++made_);
    routing::endpoint e{
      .address = "10.0.0.1",
      .port = port,
      .generation = made_,
      .host = {"host-" + std::to_string(made_)},
      .replica = {s.implementation.id.value + "/" + std::to_string(made_)},
      .fingerprint = good_stack,
      .phase = pool::phase::ready,
      .takes_traffic = true,
      .slots = 4,
    };
    e.counters = registry.obtain(e.key());
    e.counters->accept({.credits = credits, .until = noon + 10s});
    s.endpoints.push_back(std::move(e));
    return s.endpoints.back();
  }

  const routing::routing_snapshot& build() {
    routing::snapshot_builder b{++generation_};
    b.add(routing::project{{"acme"}, project_classes});
    b.add(model);
    std::vector<routing::snapshot_builder::named_share> shares;
    for (const auto& s : specs) {
      b.add(s.implementation, model.id);
      if (s.in_route)
        shares.push_back({s.implementation.id, s.floor, s.ceiling, s.hard});
      for (const auto& e : s.endpoints)
        b.add(e, s.implementation.id);
    }
    if (has_route)
      b.add_route(model.id, contract::traffic_class::interactive, route, shares);
    b.add(sha256(std::string_view{"secret"}), {.id = {"k"}, .models = key_models}, {"acme"});
    snapshot = b.build(snapshot.get());
    return *snapshot;
  }

  routing::query query() const {
    return {
      .model = asked,
      .caller = {.traffic = traffic, .project = 0, .key = 0, .over_own_share = over_own_share},
      .shape = shape,
      .tried = tried,
      .chance = chance,
      .now = noon,
      .wall = today,
    };
  }

  /// Builds a fresh snapshot and routes in it.
  routing::decision route_once() { return routing::route(build(), query()); }

  /// Where ten thousand requests went, by implementation; what was not chosen is under "".
  std::map<std::string, int> spread(int requests = 10'000) {
    const auto& s = build();
    std::map<std::string, int> went;
    for (auto n = 0; n < requests; ++n) {
      chance = static_cast<std::uint64_t>(n) * 0x9e3779b97f4a7c15ULL;
      auto d = routing::route(s, query());
      ++went[d.implementation ? d.implementation->id.value : ""];
    }
    return went;
  }

  std::deque<spec> specs; ///< References to one stay good while others are added.
  routing::model model{.id = {"m"}, .name = "m"};
  routing::model_route route{.generation = 5, .policy = routing::route_policy::latency};
  bool has_route = true;
  std::vector<std::string> project_classes;
  std::vector<std::string> key_models;
  std::string asked = "m";
  contract::shape shape{.input = {100, 120}};
  contract::traffic_class traffic = contract::traffic_class::interactive;
  bool over_own_share = false;
  std::vector<pool::endpoint_key> tried;
  std::uint64_t chance = ~std::uint64_t{0}; ///< No warm-up share.
  pool::endpoint_registry registry;
  std::shared_ptr<const routing::routing_snapshot> snapshot;

private:
  std::uint64_t made_ = 0;
  std::uint64_t generation_ = 0;
};

inline routing::rates learned_rates(double seconds) {
  routing::rates r;
  for (auto n = 0; n < 20; ++n)
    r.total_seconds.learn(seconds, noon);
  return r;
}

} // namespace assay::test
