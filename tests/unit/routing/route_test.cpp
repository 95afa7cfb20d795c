#include "src/base/limits.hpp"
#include "tests/unit/routing/site.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

namespace assay::routing {

using namespace test;
using contract::failure;
using contract::traffic_class;

namespace {

std::string chosen(const decision& d) {
  REQUIRE(d.outcome == outcome_kind::chosen);
  return d.implementation->id.value;
}

failure refused(const decision& d) {
  REQUIRE(d.outcome == outcome_kind::refused);
  CHECK_FALSE(d.reservation);
  return d.failure;
}

/// Each of them is as far from 10,000 requests as chance allows.
bool is_about(int seen, int wanted) {
  return std::abs(seen - wanted) < 250;
}

} // namespace

// -- finding the model --------------------------------------------------------------------------

TEST_CASE("an unknown model is 404 and one that the key does not list is 403") {
  site s;
  s.add("a");
  s.asked = "other";
  CHECK(refused(s.route_once()) == failure::model_not_found);
  s.asked = "m";
  s.key_models = {"other"};
  CHECK(refused(s.route_once()) == failure::model_not_allowed);
  s.key_models = {"other", "m"};
  CHECK(chosen(s.route_once()) == "a");
  s.asked = "m@1";
  CHECK(chosen(s.route_once()) == "a");
}

TEST_CASE("a model that was never promoted is 503 and says so") {
  site s;
  s.add("a");
  s.has_route = false;
  auto d = s.route_once();
  CHECK(refused(d) == failure::no_qualified_implementation);
  CHECK(
    refusal_text(*s.snapshot, s.query(), d)
    == "no implementation of model 'm' carries its traffic now: none was promoted, or the "
       "promotion was reversed; see 'assay history m' and 'assay describe model m'"
  );
}

// -- gates and refusals -------------------------------------------------------------------------

TEST_CASE("a refusal names the implementation that came nearest, with the numbers") {
  site s;
  s.add("a").implementation.artifact_verified = false;
  s.add("b").implementation.limits.input_tokens = 50;
  auto d = s.route_once();
  CHECK(refused(d) == failure::context_length_exceeded);
  CHECK(
    refusal_text(*s.snapshot, s.query(), d)
    == "no implementation of model 'm' may serve this request; nearest: b, gate within_limits: "
       "input of 100 tokens, allowed 50"
  );
}

TEST_CASE("without any replica the answer is 503 with a hint when to retry") {
  site s;
  s.add("a").endpoints.clear();
  auto d = s.route_once();
  CHECK(refused(d) == failure::no_capacity);
  CHECK(d.retry_after_seconds > 0);
}

TEST_CASE("a caller over its own share is 429, and not before the gates") {
  site s;
  auto& a = s.add("a").implementation;
  s.over_own_share = true;
  CHECK(refused(s.route_once()) == failure::rate_limited);
  a.artifact_verified = false;
  CHECK(refused(s.route_once()) == failure::no_qualified_implementation);
}

TEST_CASE("a gated-out implementation's traffic goes to the next eligible pool") {
  site s;
  s.add("a").floor = 10'000;
  s.add("b").ceiling = 500;
  CHECK(chosen(s.route_once()) == "a");
  s.specs[0].endpoints[0].takes_traffic = false;
  CHECK(s.spread() == std::map<std::string, int>{{"b", 10'000}});
}

TEST_CASE("a replica on another host is not sent to, nor waited for") {
  site s;
  auto& a = s.add("a", 0);
  auto far = s.endpoint(a).key();
  a.endpoints[1].reach = pool::reach::plaintext_refused;
  auto d = s.route_once();
  CHECK(d.outcome == outcome_kind::needs_ticket); // For the other one, whose credits are used up.
  CHECK(excluded_endpoints(*s.snapshot, s.query(), d) == std::vector{far});
  auto claimed = claim(*s.snapshot, s.query(), far);
  CHECK_FALSE(claimed.endpoint);
}

TEST_CASE("a hard ceiling holds when the others are out: the rest is refused") {
  site s;
  s.add("a").endpoints[0].takes_traffic = false;
  auto& b = s.add("b");
  b.ceiling = 500;
  b.hard = true;
  auto went = s.spread();
  CHECK(is_about(went["b"], 500));
  CHECK(is_about(went[""], 9'500));
  s.chance = 9'999;
  CHECK(refused(s.route_once()) == failure::no_capacity);
}

// -- shares -------------------------------------------------------------------------------------

TEST_CASE("a canary gets its share") {
  site s;
  auto& a = s.add("a");
  a.floor = a.ceiling = 9'500;
  auto& b = s.add("b");
  b.floor = b.ceiling = 500;
  auto went = s.spread();
  CHECK(is_about(went["b"], 500));
  CHECK(is_about(went["a"], 9'500));
}

TEST_CASE("a conversation stays on its side of a canary, and conversations spread") {
  site s;
  auto& a = s.add("a");
  a.floor = a.ceiling = 5'000;
  auto& b = s.add("b");
  b.floor = b.ceiling = 5'000;
  auto b_count = 0;
  for (std::uint64_t user = 1; user <= 1'000; ++user) {
    s.shape.affinity = user;
    s.chance = user;
    auto side = chosen(s.route_once());
    s.chance = ~user;
    REQUIRE(chosen(s.route_once()) == side);
    b_count += side == "b";
  }
  CHECK(b_count > 400);
  CHECK(b_count < 600);
}

TEST_CASE("the latency policy prefers the faster, in seconds, not the one with fewer requests") {
  site s;
  s.add("slow").endpoints[0].learned = learned_rates(4.0);
  s.add("fast").endpoints[0].learned = learned_rates(1.0);
  auto one = pool::reservation::take(s.specs[1].endpoints[0].counters, {.now = noon});
  CHECK(chosen(s.route_once()) == "fast");
}

TEST_CASE("the cost policy prefers the cheapest that meets the objective") {
  site s;
  s.route.policy = route_policy::cost;
  s.route.objective = 2s;
  auto& cheap = s.add("cheap");
  cheap.implementation.cost = cost_figures{10, "measured", {}};
  cheap.endpoints[0].learned = learned_rates(1.9);
  auto& dear = s.add("dear");
  dear.implementation.cost = cost_figures{20, "measured", {}};
  dear.endpoints[0].learned = learned_rates(0.1);
  CHECK(chosen(s.route_once()) == "cheap");
  cheap.endpoints[0].learned = learned_rates(2.1);
  CHECK(chosen(s.route_once()) == "dear");
}

TEST_CASE("the cost policy without every figure acts as latency and says so") {
  site s;
  s.route.policy = route_policy::cost;
  s.add("cheap").implementation.cost = cost_figures{10, "measured", {}};
  s.add("dear");
  s.specs[0].endpoints[0].learned = learned_rates(1.9);
  s.specs[1].endpoints[0].learned = learned_rates(0.1);
  auto d = s.route_once();
  CHECK(chosen(d) == "dear");
  CHECK(d.trace.flags.has(trace_flag::cost_acts_as_latency));
}

TEST_CASE("a fixed route ignores speed") {
  site s;
  s.route.policy = route_policy::fixed;
  s.add("slow").endpoints[0].learned = learned_rates(9.0);
  s.add("fast").endpoints[0].learned = learned_rates(0.1);
  CHECK(is_about(s.spread()["slow"], 5'000));
}

TEST_CASE("an unproven shape goes to the compatibility pool, and that is noted") {
  site s;
  s.add("a");
  auto& home = s.add("home");
  home.in_route = false;
  home.implementation.compatibility = true;
  home.implementation.envelope = envelope{.any_shape = true};
  CHECK(chosen(s.route_once()) == "a");
  s.shape.input = {5'000, 5'000};
  auto d = s.route_once();
  CHECK(chosen(d) == "home");
  CHECK(d.trace.flags.has(trace_flag::compatibility));
  home.implementation.compatibility = false;
  CHECK(refused(s.route_once()) == failure::no_qualified_implementation);
}

TEST_CASE("the compatibility pool does not catch what was refused for another reason") {
  site s;
  s.add("a").implementation.pool_data_classes = {"other"};
  auto& home = s.add("home");
  home.in_route = false;
  home.implementation.compatibility = true;
  CHECK(refused(s.route_once()) == failure::data_policy);
}

// -- endpoints ----------------------------------------------------------------------------------

TEST_CASE("the replica with the least predicted time is chosen") {
  site s;
  auto& a = s.add("a");
  a.endpoints[0].learned = learned_rates(1.0);
  s.endpoint(a).learned = learned_rates(1.2);
  auto d = s.route_once();
  CHECK(d.endpoint->generation == 1);
  // One request in flight of four makes it 1.25 s.
  CHECK(s.route_once().endpoint->generation == 2);
}

TEST_CASE("an endpoint without learnt rates gets a quarter of the choices, and the rest goes where "
          "rates are known") {
  site s;
  auto& a = s.add("a");
  a.endpoints[0].learned = learned_rates(1.0);
  s.endpoint(a);
  const auto& built = s.build();
  auto explored = 0;
  for (auto n = 0; n < 10'000; ++n) {
    s.chance = static_cast<std::uint64_t>(n) * 0x9e3779b97f4a7c15ULL;
    auto d = route(built, s.query());
    explored += d.endpoint->generation == 2;
    CHECK((d.endpoint->generation == 2) == d.trace.flags.has(trace_flag::explored));
  }
  CHECK(is_about(explored, 2'500));
}

TEST_CASE("a warming endpoint gets a quarter of the choices, however fast it looks") {
  site s;
  auto& a = s.add("a", 100);
  a.endpoints[0].learned = learned_rates(1.0);
  auto& fast = s.endpoint(a, 100);
  fast.learned = learned_rates(0.1);
  fast.counters->rule({.standing = pool::standing::warming}, pool::no_limit);
  const auto& built = s.build();
  auto warmed = 0;
  for (auto n = 0; n < 10'000; ++n) {
    s.chance = static_cast<std::uint64_t>(n) * 0x9e3779b97f4a7c15ULL;
    auto d = route(built, s.query());
    warmed += d.endpoint->generation == 2;
    CHECK((d.endpoint->generation == 2) == d.trace.flags.has(trace_flag::explored));
  }
  CHECK(is_about(warmed, 2'500));
}

TEST_CASE("an endpoint that is left out is passed over, and the trace says so") {
  site s;
  auto& a = s.add("a", 1'000);
  a.endpoints[0].learned = learned_rates(0.1);
  s.endpoint(a, 1'000).learned = learned_rates(5.0);
  a.endpoints[0].counters->rule({.standing = pool::standing::failing, .tokens = 0}, pool::no_limit);
  for (s.chance = 0; s.chance < 32; ++s.chance) {
    auto d = s.route_once();
    CHECK(d.endpoint->generation == 2);
    CHECK(d.trace.flags.has(trace_flag::avoided));
  }
}

TEST_CASE("an implementation whose every endpoint is left out has no capacity, and says why") {
  site s;
  auto& a = s.add("a");
  a.endpoints[0].counters->rule({.standing = pool::standing::wedged, .tokens = 0}, pool::no_limit);
  auto d = s.route_once();
  CHECK(refused(d) == failure::no_capacity);
  CHECK(d.nearest.reason == reason::all_left_out);
  CHECK(
    refusal_text(*s.snapshot, s.query(), d).find("fails, hangs or is full") != std::string::npos
  );
}

TEST_CASE("a half-open breaker lets one of many choices through") {
  site s;
  auto& a = s.add("a", 1'000);
  a.endpoints[0].learned = learned_rates(1.0);
  auto& other = s.endpoint(a, 1'000);
  other.learned = learned_rates(1.0);
  other.counters->rule({.standing = pool::standing::probing, .tokens = 1}, pool::no_limit);
  const auto& built = s.build();
  std::vector<decision> held;
  auto probes = 0;
  for (auto n = 0; n < 100; ++n) {
    s.chance = static_cast<std::uint64_t>(n) * 0x9e3779b97f4a7c15ULL;
    held.push_back(route(built, s.query()));
    probes += held.back().endpoint->generation == 2;
  }
  CHECK(probes == 1);
}

TEST_CASE("a replica that is not heard of comes after those that are") {
  site s;
  auto& a = s.add("a", 100);
  a.endpoints[0].learned = learned_rates(0.1);
  s.endpoint(a, 100).learned = learned_rates(3.0);
  a.endpoints[0].counters->rule({.standing = pool::standing::stale}, pool::no_limit);
  CHECK(s.route_once().endpoint->generation == 2);
}

TEST_CASE("who would wait longer than it may is refused at once, by seconds and not by numbers") {
  site s;
  auto& a = s.add("a", 0);
  a.endpoints[0].learned = learned_rates(2.0); // Four slots: two a second.
  s.has_route = true;
  SECTION("many before a fast one are no reason") {
    a.implementation.waiting = {59, 0, 0, 0};
    CHECK(s.route_once().outcome == outcome_kind::needs_ticket);
  }
  SECTION("one more is, and is told when to come back") {
    a.implementation.waiting = {69, 0, 0, 0};
    auto d = s.route_once();
    CHECK(refused(d) == failure::no_capacity);
    CHECK(d.nearest.reason == reason::wait_too_long);
    CHECK(d.nearest.seen == 35'000);
    CHECK(d.nearest.allowed == 30'000);
    CHECK(d.retry_after_seconds == 5);
    CHECK(d.trace.waited_for_ms == 35'000);
  }
  SECTION("of a lower class nobody is before it") {
    a.implementation.waiting = {0, 500, 0, 500};
    CHECK(s.route_once().outcome == outcome_kind::needs_ticket);
  }
  SECTION("where nothing is known of the pace, it queues") {
    a.implementation.waiting = {500, 0, 0, 0};
    s.endpoint(a, 0);
    CHECK(s.route_once().outcome == outcome_kind::needs_ticket);
  }
  SECTION("another implementation that is quicker will do") {
    a.implementation.waiting = {500, 0, 0, 0};
    s.add("b", 0).endpoints[0].learned = learned_rates(0.5);
    CHECK(s.route_once().outcome == outcome_kind::needs_ticket);
  }
}

TEST_CASE("an endpoint that failed this request is not tried again") {
  site s;
  auto& a = s.add("a");
  s.endpoint(a);
  s.tried = {a.endpoints[0].key()};
  for (s.chance = 0; s.chance < 32; ++s.chance)
    CHECK(s.route_once().endpoint->generation == 2);
  s.tried.push_back(a.endpoints[1].key());
  CHECK(refused(s.route_once()) == failure::no_capacity);
}

TEST_CASE("the choice takes the credit that it needs") {
  site s;
  s.add("a", 1);
  {
    auto d = s.route_once();
    CHECK(d.reservation);
    CHECK(d.endpoint->counters->in_flight() == 1);
    CHECK(s.route_once().outcome == outcome_kind::needs_ticket);
  }
  CHECK(s.route_once().outcome == outcome_kind::chosen);
}

// -- out of credit ------------------------------------------------------------------------------

TEST_CASE("a full first choice spills to another within its bounds") {
  site s;
  s.add("fast", 1).endpoints[0].learned = learned_rates(0.1);
  s.add("slow").endpoints[0].learned = learned_rates(5.0);
  auto d = s.route_once();
  CHECK(chosen(d) == "fast");
  CHECK(chosen(s.route_once()) == "slow");
}

TEST_CASE("a fixed split does not spill: the full side waits for its own") {
  site s;
  auto& a = s.add("a", 0);
  a.floor = a.ceiling = 9'500;
  auto& b = s.add("b");
  b.floor = b.ceiling = 500;
  s.chance = 0;
  auto d = s.route_once();
  REQUIRE(d.outcome == outcome_kind::needs_ticket);
  auto ids = acceptable_ids(*s.snapshot, d);
  REQUIRE(ids.size() == 1);
  CHECK(ids[0].value == "a");
}

TEST_CASE("a ticket names what may serve it, and excludes drifted and tried endpoints") {
  site s;
  auto& a = s.add("a", 0);
  s.endpoint(a).fingerprint = other_stack;
  s.endpoint(a, 0);
  s.add("b", 0);
  s.tried = {a.endpoints[2].key()};
  auto d = s.route_once();
  REQUIRE(d.outcome == outcome_kind::needs_ticket);
  CHECK(acceptable_ids(*s.snapshot, d).size() == 2);
  CHECK(
    excluded_endpoints(*s.snapshot, s.query(), d)
    == std::vector{a.endpoints[1].key(), a.endpoints[2].key()}
  );
}

TEST_CASE("an admitted request claims the credit that the queue kept for it") {
  site s;
  auto& a = s.add("a", 1);
  auto waiting =
    pool::grant{.credits = 1, .until = noon + 10s, .waiting = pool::contention::interactive_waits};
  a.endpoints[0].counters->accept(waiting);
  CHECK(s.route_once().outcome == outcome_kind::needs_ticket);
  auto d = claim(*s.snapshot, s.query(), a.endpoints[0].key());
  CHECK(chosen(d) == "a");
  CHECK(d.trace.flags.has(trace_flag::admitted));
  CHECK(claim(*s.snapshot, s.query(), a.endpoints[0].key()).outcome == outcome_kind::needs_ticket);
}

TEST_CASE("a claim asks the gates again: what was suspended meanwhile serves nothing") {
  site s;
  auto& a = s.add("a");
  a.implementation.evaluation = evaluation_state::suspended;
  s.build();
  CHECK(
    refused(claim(*s.snapshot, s.query(), a.endpoints[0].key()))
    == failure::no_qualified_implementation
  );
}

TEST_CASE("a claim on what the route no longer carries goes elsewhere") {
  site s;
  auto& a = s.add("a");
  a.ceiling = 0;
  auto key = a.endpoints[0].key();
  s.add("b");
  s.build();
  CHECK(chosen(claim(*s.snapshot, s.query(), key)) == "b");
}

TEST_CASE("a claim on an endpoint that is gone is routed anew") {
  site s;
  s.add("a");
  s.build();
  CHECK(chosen(claim(*s.snapshot, s.query(), {"10.9.9.9:1", 1})) == "a");
}

// -- evaluation ---------------------------------------------------------------------------------

TEST_CASE("evaluation goes where it is pinned, without route and evidence") {
  site s;
  s.add("a");
  auto& b = s.add("b").implementation;
  s.specs[1].in_route = false;
  b.evaluation = evaluation_state::missing;
  b.envelope = {};
  b.artifact_verified = false;
  s.specs[1].endpoints[0].fingerprint = other_stack;
  s.traffic = traffic_class::evaluation;
  auto q = [&] {
    auto asked = s.query();
    asked.pin = pin{"b"};
    return asked;
  };
  CHECK(chosen(route(s.build(), q())) == "b");
  auto on_stack = [&](const digest& stack) {
    auto asked = q();
    asked.pin->fingerprint = stack;
    return route(s.build(), asked).outcome;
  };
  CHECK(on_stack(other_stack) == outcome_kind::chosen);
  CHECK(on_stack(good_stack) == outcome_kind::refused);
}

TEST_CASE("only evaluation is pinned, and evaluation only pinned") {
  site s;
  s.add("a");
  auto pinned = s.query();
  pinned.pin = pin{"a"};
  CHECK(refused(route(s.build(), pinned)) == failure::invalid_request);
  s.traffic = traffic_class::evaluation;
  CHECK(refused(s.route_once()) == failure::invalid_request);
  auto stranger = s.query();
  stranger.pin = pin{"nothing"};
  CHECK(refused(route(s.build(), stranger)) == failure::invalid_request);
}

TEST_CASE("a pinned evaluation without credit waits for its implementation") {
  site s;
  s.add("a", 0);
  s.traffic = traffic_class::evaluation;
  auto asked = s.query();
  asked.pin = pin{"a"};
  auto d = route(s.build(), asked);
  REQUIRE(d.outcome == outcome_kind::needs_ticket);
  CHECK(acceptable_ids(*s.snapshot, d) == std::vector{implementation_id{"a"}});
}

} // namespace assay::routing
