#pragma once
// A coordinator under a clock that only the test moves, with its promises checked after each step.

#include "src/pool/coordinator.hpp"

#include <catch2/catch_test_macros.hpp>

#include <optional>
#include <string>
#include <vector>

namespace assay::test {

using namespace std::chrono_literals;

inline pool::wanted_implementation
wanted(std::string id, std::uint32_t slots = 4, std::uint32_t devices = 0) {
  pool::wanted_implementation w;
  w.launch.implementation = {std::move(id)};
  w.launch.model = {"m"};
  w.launch.slots = slots;
  w.launch.devices = devices;
  return w;
}

class pool_stage {
public:
  explicit pool_stage(pool::coordinator_settings settings = {.pool = {"p"}, .epoch = 3})
    : coordinator{std::move(settings), dawn} {}

  std::vector<pool::effect> step(const pool::event& what) {
    effects = coordinator.step(what, now);
    coordinator.check_invariants();
    for (const auto& e : effects)
      if (const auto* g = std::get_if<pool::grant_lease>(&e))
        grants[{g->ingress, g->endpoint}] = *g;
    return effects;
  }

  std::vector<pool::effect> pass(steady_time::duration time) {
    now += time;
    return step(pool::ticked{});
  }

  /// Passes the time in ticks, so that leases are renewed meanwhile. `effects` holds all of it.
  void elapse(steady_time::duration time) {
    std::vector<pool::effect> seen;
    for (auto end = now + time; now < end;) {
      auto more = pass(std::min<steady_time::duration>(1s, end - now));
      seen.insert(seen.end(), more.begin(), more.end());
    }
    effects = std::move(seen);
  }

  template <class Effect>
  std::vector<Effect> all() const {
    std::vector<Effect> found;
    for (const auto& e : effects)
      if (const auto* one = std::get_if<Effect>(&e))
        found.push_back(*one);
    return found;
  }

  /// Fails the test when there is not exactly one.
  template <class Effect>
  Effect one() const {
    auto found = all<Effect>();
    REQUIRE(found.size() == 1);
    return found.front();
  }

  void host(std::string id, std::vector<std::string> devices = {}, std::uint64_t session = 1) {
    step(pool::host_reported{
      .host = {std::move(id)}, .session = session, .devices = std::move(devices), .running = {{}}});
  }

  pool::replica_reported report(const pool::start_replica& s, pool::phase phase) const {
    return {
      .replica = s.replica,
      .host = s.host,
      .session = s.session,
      .implementation = s.launch.implementation,
      .generation = s.generation,
      .phase = phase,
      .address = "127.0.0.1:" + std::to_string(7200 + s.generation % 800),
      .secret = "s",
      .devices = s.devices,
    };
  }

  /// One host with one ready replica of `w`.
  pool::start_replica ready(const pool::wanted_implementation& w, std::string host_id = "h") {
    host(std::move(host_id));
    step(pool::wanted_changed{{w}});
    auto started = one<pool::start_replica>();
    step(report(started, pool::phase::ready));
    return started;
  }

  pool::endpoint_key endpoint(const pool::start_replica& s) const {
    return {report(s, pool::phase::ready).address, s.generation};
  }

  struct use {
    pool::endpoint_key endpoint;
    std::uint32_t in_flight = 0;
    std::uint64_t finished = 0;
  };
  /// The ingress accepted every grant so far and uses this much.
  std::vector<pool::effect>
  ingress(std::string id, std::vector<use> uses = {}, std::vector<std::uint64_t> settled = {}) {
    pool::ingress_reported r{.ingress = {std::move(id)}, .settled = std::move(settled)};
    for (const auto& u : uses) {
      auto g = grants.find({r.ingress, u.endpoint});
      r.holdings.push_back({u.endpoint, 0, u.in_flight, u.finished});
      if (g == grants.end())
        continue;
      r.holdings.back().credits = g->second.grant.credits;
      r.holdings.back().grant = g->second.number;
    }
    return step(r);
  }

  std::uint32_t credits(const std::string& ingress, const pool::endpoint_key& e) const {
    auto g = grants.find({{ingress}, e});
    return g == grants.end() ? 0 : g->second.grant.credits;
  }

  pool::ticket_asked
  ticket(std::uint64_t number, std::string implementation, std::string ingress = "in") const {
    return {
      .ingress = {std::move(ingress)},
      .ticket = number,
      .project = {"p"},
      .acceptable = {{std::move(implementation)}},
      .deadline = now + 20s,
    };
  }

  pool::pool_view view() const { return coordinator.view(now); }

  static constexpr auto dawn = steady_time{} + 1h;
  steady_time now = dawn;
  pool::coordinator coordinator;
  std::vector<pool::effect> effects; ///< Of the last step.
  std::map<std::pair<ingress_id, pool::endpoint_key>, pool::grant_lease> grants;
};

} // namespace assay::test
