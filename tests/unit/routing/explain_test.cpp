#include "src/routing/explain.hpp"
#include "tests/unit/routing/site.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

namespace assay::routing {

using namespace test;

namespace {

bool has_line(const std::vector<std::string>& lines, std::string_view part) {
  return std::any_of(lines.begin(), lines.end(), [&](const auto& line) {
    return line.find(part) != std::string::npos;
  });
}

} // namespace

TEST_CASE("every implementation is shown with all eight gates, not only up to the first refusal") {
  site s;
  auto& a = s.add("a").implementation;
  a.artifact_verified = false;
  a.pool_data_classes = {"other"};
  s.add("b");
  auto e = explain(s.build(), s.query());
  REQUIRE(e.implementations.size() == 2);
  REQUIRE(e.implementations[0].gates.size() == gate_count);
  CHECK(e.implementations[0].gates[1].what.refuses());
  CHECK(e.implementations[0].gates[5].what.refuses());
  CHECK_FALSE(e.implementations[0].eligible);
  CHECK(e.implementations[0].share_bps == 0);
  CHECK(e.implementations[1].share_bps == 10'000);
}

TEST_CASE("a request that nobody made is of the task that the model is asked by") {
  using contract::operation;
  site s;
  s.model.promises.task = contract::task::completion;
  auto usual = asked_by(s.model, s.shape, {});
  CHECK(usual.task == contract::task::completion);
  CHECK(usual.operation == operation::completions);
  auto made = asked_by(s.model, s.shape, operation::messages);
  CHECK(made.task == contract::task::chat);
  CHECK(made.operation == operation::messages);
  s.model.promises.task = contract::task::infer; // No operation of ours asks for it yet.
  CHECK(asked_by(s.model, s.shape, {}).task == contract::task::infer);
}

TEST_CASE("explaining takes no credit") {
  site s;
  s.add("a", 1);
  const auto& built = s.build();
  explain(built, s.query());
  CHECK(built.endpoints()[0].counters->finished() == 0);
  CHECK(built.endpoints()[0].counters->in_flight() == 0);
}

TEST_CASE("the explanation names a waiver, a missing cost and a missing ceiling") {
  site s;
  auto& a = s.add("a").implementation;
  a.evaluation = evaluation_state::missing;
  waiver w{.id = "waiver-7"};
  w.gates.add(gate::evaluation_current);
  a.waivers = {w};
  s.route.policy = route_policy::cost;
  auto lines = to_lines(explain(s.build(), s.query()));
  CHECK(has_line(lines, "[waiver waiver-7]"));
  CHECK(has_line(lines, "note: waiver waiver-7 covers gate evaluation_current of a"));
  CHECK(has_line(lines, "policy cost has no fresh figures"));
  CHECK(has_line(lines, "the policy sets no cost ceiling"));
  CHECK(has_line(lines, "signals used, portable"));
}

TEST_CASE("a drifted host is shown with the reason that it gets nothing") {
  site s;
  s.add("a").endpoints[0].fingerprint = other_stack;
  auto e = explain(s.build(), s.query());
  CHECK_FALSE(e.implementations[0].endpoints[0].usable);
  CHECK(e.implementations[0].endpoints[0].why.find(to_text(other_stack)) != std::string::npos);
  CHECK(e.outcome.find("503 no_qualified_implementation") != std::string::npos);
}

TEST_CASE("the outcome of an explanation is the outcome of the request") {
  site s;
  auto& a = s.add("a", 1);
  CHECK(explain(s.build(), s.query()).outcome.starts_with("1 of 1 implementations may serve it"));
  {
    auto d = s.route_once();
    CHECK(explain(s.build(), s.query()).outcome == "would wait for a free credit");
    CHECK(s.route_once().outcome == outcome_kind::needs_ticket);
  }
  a.implementation.limits.input_tokens = 10;
  auto refused = explain(s.build(), s.query());
  CHECK(refused.outcome.starts_with("refused with 400 context_length_exceeded"));
  CHECK(s.route_once().failure == contract::failure::context_length_exceeded);
  s.asked = "nothing";
  CHECK(explain(s.build(), s.query()).outcome.starts_with("refused with 404 model_not_found"));
}

TEST_CASE("names and values carry each gate's answer and numbers") {
  site s;
  s.add("a").implementation.limits.input_tokens = 50;
  auto pairs = to_pairs(explain(s.build(), s.query()));
  auto has = [&](std::string name, std::string value) {
    return std::count(pairs.begin(), pairs.end(), name_value{std::move(name), std::move(value)})
           == 1;
  };
  CHECK(has("implementations.0.gates.within_limits.answer", "refuse"));
  CHECK(has("implementations.0.gates.within_limits.seen", "100"));
  CHECK(has("implementations.0.gates.within_limits.allowed", "50"));
  CHECK(has("implementations.0.endpoints.0.usable", "true"));
}

} // namespace assay::routing
