#include "src/base/limits.hpp"
#include "tests/unit/routing/site.hpp"

#include <catch2/catch_test_macros.hpp>

#include <set>

namespace assay::routing {

using namespace test;
using contract::traffic_class;

namespace {

/// One gate asked about the first implementation of a site.
verdict ask(gate_function g, site& s) {
  const auto& snapshot = s.build();
  auto q = s.query();
  question asked{
    .snapshot = snapshot,
    .model = snapshot.models()[0],
    .caller = q.caller,
    .shape = q.shape,
    .tried = q.tried,
    .now = q.now,
    .wall = q.wall,
  };
  return g(asked, snapshot.implementations()[0]);
}

bool passes(gate_function g, site& s) {
  return !ask(g, s).refuses();
}

reason why(gate_function g, site& s) {
  auto v = ask(g, s);
  REQUIRE(v.refuses());
  return v.reason;
}

waiver covering(gate g, std::optional<wall_ms> expires = {}) {
  waiver w{.id = "w1", .expires = expires};
  w.gates.add(g);
  return w;
}

} // namespace

TEST_CASE("what is in order passes every gate") {
  site s;
  s.add("a");
  for (auto g : gates)
    CHECK(ask(g, s).answer == answer::pass);
}

TEST_CASE("gate 1 refuses another task, an unsupported stream and an unknown feature") {
  site s;
  auto& a = s.add("a").implementation;
  SECTION("task") {
    s.shape.task = contract::task::embedding;
    CHECK(why(serves_task, s) == reason::other_task);
  }
  SECTION("task of the implementation only") {
    a.task = contract::task::completion;
    CHECK(why(serves_task, s) == reason::other_task);
  }
  SECTION("an operation that no profile offers") {
    s.shape.operation = contract::operation::messages;
    CHECK(why(serves_task, s) == reason::not_offered);
    a.operations.add(contract::operation::messages);
    CHECK(passes(serves_task, s));
  }
  SECTION("stream") {
    s.shape.stream = true;
    CHECK(passes(serves_task, s));
    a.streaming = false;
    CHECK(why(serves_task, s) == reason::streaming_unsupported);
  }
  SECTION("feature") {
    s.shape.features = {"tools"};
    CHECK(passes(serves_task, s));
    a.features = {{"tools", "logprobs"}};
    CHECK(passes(serves_task, s));
    s.model.promises.features = {"logprobs"};
    CHECK(why(serves_task, s) == reason::feature_unsupported);
    s.model.promises.features = {"tools"};
    a.features.emplace();
    CHECK(why(serves_task, s) == reason::feature_unsupported);
  }
}

TEST_CASE(
  "gate 2 refuses an unverified artifact, a status that does not admit the class, a stranger"
) {
  site s;
  auto& a = s.add("a").implementation;
  SECTION("artifact") {
    a.artifact_verified = false;
    CHECK(why(artifact_approved, s) == reason::artifact_unverified);
  }
  SECTION("batch-only serves batch and refuses interactive") {
    a.admits = {};
    a.admits.add(traffic_class::batch);
    CHECK(why(artifact_approved, s) == reason::class_not_admitted);
    s.traffic = traffic_class::batch;
    CHECK(passes(artifact_approved, s));
  }
  SECTION("an adopted server serves its adopter only") {
    a.only_project = project_id{"acme"};
    CHECK(passes(artifact_approved, s));
    a.only_project = project_id{"other"};
    CHECK(why(artifact_approved, s) == reason::other_projects_only);
  }
}

TEST_CASE("gate 3 lets in the last allowed size and refuses the first too large") {
  site s;
  auto& a = s.add("a").implementation;
  auto fits = [&](auto& size, auto last) {
    size = last;
    auto is_in = ask(within_limits, s).answer == answer::pass;
    size = last + 1;
    return is_in && !passes(within_limits, s);
  };
  SECTION("input") {
    a.limits.input_tokens = 800;
    s.shape.input = {800, 800};
    CHECK(ask(within_limits, s).answer == answer::pass);
    s.shape.input = {801, 801};
    CHECK(
      ask(within_limits, s)
      == verdict{gate::within_limits, answer::refuse, reason::input_too_long, 801, 800}
    );
  }
  SECTION("output") {
    a.limits.output_tokens = 64;
    CHECK(fits(s.shape.output_tokens, std::uint32_t{64}));
    CHECK(why(within_limits, s) == reason::output_too_long);
  }
  SECTION("input and output together") {
    a.limits.context_tokens = 1'024;
    s.shape.input = {1'000, 1'000};
    CHECK(fits(s.shape.output_tokens, std::uint32_t{24}));
    CHECK(why(within_limits, s) == reason::context_too_long);
  }
  SECTION("body") {
    a.limits.body_bytes = 4'096;
    CHECK(fits(s.shape.body_bytes, std::uint64_t{4'096}));
    CHECK(failure_of(ask(within_limits, s)) == contract::failure::request_too_large);
  }
  SECTION("the contract's limit when it is the tighter one") {
    a.limits.input_tokens = 800;
    s.model.promises.limits.input_tokens = 100;
    s.shape.input = {101, 101};
    CHECK(ask(within_limits, s).allowed == 100);
  }
}

TEST_CASE("gate 3 never refuses on an estimate") {
  site s;
  s.add("a").implementation.limits.input_tokens = 800;
  s.shape.input = {800, 3'000};
  CHECK(ask(within_limits, s).answer == answer::unsure);
  CHECK(
    to_text(ask(within_limits, s))
    == "perhaps input of 3,000 tokens, allowed 800; the engine decides"
  );
  CHECK(s.route_once().outcome == outcome_kind::chosen);
}

TEST_CASE("gate 4 lets in the last proven shape and refuses the first beyond") {
  site s;
  auto& a = s.add("a").implementation;
  SECTION("input") {
    s.shape.input = {1'000, 1'000};
    CHECK(passes(within_evidence, s));
    s.shape.input = {1'001, 1'001};
    CHECK(why(within_evidence, s) == reason::input_past_evidence);
  }
  SECTION("output") {
    s.shape.output_tokens = 500;
    CHECK(passes(within_evidence, s));
    s.shape.output_tokens = 501;
    CHECK(why(within_evidence, s) == reason::output_past_evidence);
  }
  SECTION("streaming") {
    a.envelope->streaming = false;
    CHECK(passes(within_evidence, s));
    s.shape.stream = true;
    CHECK(why(within_evidence, s) == reason::streaming_unproven);
    a.envelope = {.unary = false};
    CHECK(passes(within_evidence, s));
    s.shape.stream = false;
    CHECK(why(within_evidence, s) == reason::unary_unproven);
  }
  SECTION("no evidence at all") {
    a.envelope = {};
    CHECK(why(within_evidence, s) == reason::no_envelope);
  }
  SECTION("any shape, in a compatibility pool") {
    a.envelope = envelope{.input_tokens = 1, .any_shape = true};
    CHECK(passes(within_evidence, s));
  }
}

TEST_CASE("gate 5 holds until the expiry and a minute, and not a moment longer") {
  site s;
  auto& a = s.add("a").implementation;
  auto grace = std::chrono::duration_cast<std::chrono::milliseconds>(limits::expiry_grace).count();
  a.evaluation_expires = wall_ms{today.value - grace};
  CHECK(passes(evaluation_current, s));
  a.evaluation_expires = wall_ms{today.value - grace - 1};
  CHECK(why(evaluation_current, s) == reason::evaluation_expired);
}

TEST_CASE("gate 5 refuses each state but current") {
  site s;
  auto& a = s.add("a").implementation;
  a.evaluation = evaluation_state::missing;
  CHECK(why(evaluation_current, s) == reason::never_evaluated);
  a.evaluation = evaluation_state::expired;
  CHECK(why(evaluation_current, s) == reason::evaluation_expired);
  a.evaluation = evaluation_state::suspended;
  CHECK(why(evaluation_current, s) == reason::evaluation_suspended);
  a.evaluation = evaluation_state::revoked;
  CHECK(why(evaluation_current, s) == reason::evaluation_revoked);
}

TEST_CASE("gate 5 drops a drifted host and refuses when it was the last") {
  site s;
  auto& a = s.add("a");
  s.endpoint(a);
  a.endpoints[0].fingerprint = other_stack;
  CHECK(passes(evaluation_current, s));
  for (s.chance = 0; s.chance < 64; ++s.chance)
    CHECK(s.route_once().endpoint->fingerprint == good_stack);
  a.endpoints[1].fingerprint = other_stack;
  CHECK(why(evaluation_current, s) == reason::no_qualified_host);
  CHECK(s.route_once().failure == contract::failure::no_qualified_implementation);
}

TEST_CASE("gate 6 refuses a data class that the pool or the project does not list") {
  site s;
  auto& a = s.add("a").implementation;
  s.model.promises.data_class = "secret";
  CHECK(passes(data_allowed, s));
  a.pool_data_classes = {"internal", "secret"};
  s.project_classes = {"secret"};
  CHECK(passes(data_allowed, s));
  a.pool_data_classes = {"internal"};
  CHECK(why(data_allowed, s) == reason::pool_data_class);
  CHECK(failure_of(ask(data_allowed, s)) == contract::failure::data_policy);
  a.pool_data_classes = {};
  s.project_classes = {"internal"};
  CHECK(why(data_allowed, s) == reason::project_data_class);
}

TEST_CASE("gate 7 passes at the ceiling, refuses above it, and without a ceiling says so") {
  site s;
  auto& a = s.add("a").implementation;
  CHECK(ask(economics_acceptable, s).reason == reason::no_ceiling);
  s.model.cost_ceiling_nano = 1'000;
  CHECK(why(economics_acceptable, s) == reason::cost_unknown);
  a.cost = cost_figures{.nano_per_unit = 1'000};
  CHECK(why(economics_acceptable, s) == reason::cost_unknown); // A figure from nowhere.
  a.cost->provenance = "measured";
  CHECK(passes(economics_acceptable, s));
  a.cost->fresh_until = today;
  CHECK(passes(economics_acceptable, s));
  a.cost->fresh_until = wall_ms{today.value - 1};
  CHECK(why(economics_acceptable, s) == reason::cost_stale);
  a.cost = cost_figures{.nano_per_unit = 1'001, .provenance = "measured"};
  CHECK(why(economics_acceptable, s) == reason::cost_too_high);
  CHECK(failure_of(ask(economics_acceptable, s)) == contract::failure::cost_ceiling);
}

TEST_CASE("gate 8 passes with the last credit free and refuses without") {
  site s;
  auto& e = s.add("a", 1).endpoints[0];
  CHECK(passes(has_capacity, s));
  auto taken = pool::reservation::take(e.counters, {.now = noon});
  CHECK(
    ask(has_capacity, s) == verdict{gate::has_capacity, answer::refuse, reason::no_credit, 1, 1}
  );
}

TEST_CASE("gate 8 tells a lost replica from a busy one, a tried one and a queue") {
  site s;
  auto& a = s.add("a", 1);
  auto& e = a.endpoints[0];
  SECTION("lost") {
    e.takes_traffic = false;
    CHECK(why(has_capacity, s) == reason::no_replica);
  }
  SECTION("suspect") {
    e.phase = pool::phase::suspect;
    CHECK(why(has_capacity, s) == reason::no_replica);
  }
  SECTION("saturated") {
    e.phase = pool::phase::saturated;
    CHECK(why(has_capacity, s) != reason::no_replica);
  }
  SECTION("tried") {
    s.tried = {e.key()};
    CHECK(why(has_capacity, s) == reason::all_tried);
  }
  SECTION("queue") {
    e.counters->accept(
      {.credits = 1, .until = noon + 10s, .waiting = pool::contention::interactive_waits}
    );
    CHECK(why(has_capacity, s) == reason::queue_first);
  }
}

TEST_CASE("evaluation is not asked gates 2, 4, 5 and 7, and is asked the others") {
  site s;
  auto& a = s.add("a").implementation;
  s.traffic = traffic_class::evaluation;
  a.artifact_verified = false;
  a.envelope = {};
  a.evaluation = evaluation_state::revoked;
  s.model.cost_ceiling_nano = 1;
  a.pool_data_classes = {"other"};
  a.limits.input_tokens = 1;
  std::vector<gate> skipped;
  std::vector<gate> refusing;
  for (auto g : gates) {
    auto v = ask(g, s);
    if (v.answer == answer::skip)
      skipped.push_back(v.gate);
    if (v.refuses())
      refusing.push_back(v.gate);
  }
  CHECK(
    skipped
    == std::
      vector{gate::artifact_approved, gate::within_evidence, gate::evaluation_current, gate::economics_acceptable}
  );
  CHECK(refusing == std::vector{gate::within_limits, gate::data_allowed});
}

TEST_CASE("a waiver lets its gate through until it expires, and the decision says so") {
  site s;
  auto& a = s.add("a").implementation;
  a.evaluation = evaluation_state::missing;
  a.waivers = {covering(gate::within_evidence)};
  CHECK_FALSE(passes(evaluation_current, s));
  a.waivers = {covering(gate::evaluation_current, wall_ms{today.value + 1})};
  CHECK(ask(evaluation_current, s).answer == answer::waived);
  auto d = s.route_once();
  CHECK(d.outcome == outcome_kind::chosen);
  CHECK(d.trace.waived.has(gate::evaluation_current));
  a.waivers = {covering(gate::evaluation_current, today)};
  CHECK_FALSE(passes(evaluation_current, s));
}

TEST_CASE("every reason has a name and a sentence of its own") {
  std::set<std::string_view> names;
  for (auto r = 0; r <= static_cast<int>(reason::all_tried); ++r) {
    auto v = verdict{gate::within_limits, answer::refuse, static_cast<reason>(r), 1'234, 56};
    CHECK(names.insert(name(v.reason)).second);
    CHECK_FALSE(to_text(v).empty());
    CHECK(to_text(v).find('%') == std::string::npos);
  }
}

} // namespace assay::routing
