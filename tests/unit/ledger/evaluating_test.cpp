// From an implementation to a run, and from what came out of it to records that the ledger takes.

#include "src/ledger/evaluating.hpp"
#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::ledger::test {

namespace {

const qualification_id fresh{"q-new"};
const evaluated_stack stack_1{{"h1"}, some_digest("stack 1")};

result<evaluation, problem> planned(const world& w, const evaluated_stack& on = stack_1) {
  return plan_evaluation(w.t, impl_a, on, fresh, w.now);
}

std::string refusal_of(const world& w, const implementation_id& id = impl_a) {
  auto plan = plan_evaluation(w.t, id, stack_1, fresh, w.now);
  return plan ? "planned" : plan.error().what;
}

evaluation begun(world& w, const evaluated_stack& on = stack_1) {
  auto plan = planned(w, on);
  REQUIRE(plan);
  for (const auto& one : plan->opening)
    w.must(one);
  return *plan;
}

evaluation_outcome outcome(const world& w, qualification::outcome how) {
  evaluation_outcome out;
  out.verdict.outcome = how;
  out.verdict.score_ppm = 650'000;
  out.verdict.lower_bound_ppm = 441'000;
  out.verdict.counts.answered = 20;
  out.verdict.counts.right = 13;
  out.verdict.counts.distinct_answers = 12;
  out.evidence = some_digest("evidence");
  out.started_at = w.now;
  out.ended_at = {w.now.value + 1};
  return out;
}

void record_all(world& w, const std::vector<payload>& all) {
  w.now.value += 2; // Runs have names with their time.
  for (const auto& one : all)
    w.must(one);
}

qualification::state state_of(const world& w, const qualification_id& id) {
  return w.t.qualifications->at(id).state;
}

} // namespace

TEST_CASE("an implementation without a qualification gets a new one, and passes into it") {
  auto w = world::site();
  auto e = begun(w);
  CHECK(e.purpose == evaluation_purpose::first);
  CHECK(e.id == fresh);
  record_all(w, conclude(w.t, e, outcome(w, qualification::outcome::pass)));
  CHECK(state_of(w, fresh) == qualification::state::qualified);
  CHECK(w.t.qualifications->at(fresh).fingerprints == std::vector{some_digest("stack 1")});
  SECTION("and nothing is learnt by running it again on this very stack") {
    CHECK(refusal_of(w) == "it is qualified on this very stack (q-new)");
  }
  SECTION("and another stack extends it") {
    w.must(stack_seen{{"h2"}, {"cpu-a"}, some_digest("stack 2"), stack_fields("2")});
    auto more = begun(w, {{"h2"}, some_digest("stack 2")});
    CHECK(more.purpose == evaluation_purpose::extend);
    record_all(w, conclude(w.t, more, outcome(w, qualification::outcome::pass)));
    CHECK(w.t.qualifications->at(fresh).fingerprints.size() == 2);
  }
  SECTION("and failing on another stack takes nothing away") {
    w.must(stack_seen{{"h2"}, {"cpu-a"}, some_digest("stack 2"), stack_fields("2")});
    auto more = begun(w, {{"h2"}, some_digest("stack 2")});
    record_all(w, conclude(w.t, more, outcome(w, qualification::outcome::fail)));
    CHECK(state_of(w, fresh) == qualification::state::qualified);
    CHECK(w.t.qualifications->at(fresh).fingerprints.size() == 1);
  }
}

TEST_CASE("a run that fails rejects; one without evidence is inconclusive and may be run again") {
  auto w = world::site();
  auto e = begun(w);
  SECTION("fails") {
    record_all(w, conclude(w.t, e, outcome(w, qualification::outcome::fail)));
    CHECK(state_of(w, fresh) == qualification::state::rejected);
    CHECK(planned(w)->purpose == evaluation_purpose::first);
  }
  SECTION("is inconclusive") {
    record_all(w, conclude(w.t, e, outcome(w, qualification::outcome::inconclusive)));
    CHECK(state_of(w, fresh) == qualification::state::inconclusive);
    auto again = begun(w);
    CHECK(again.purpose == evaluation_purpose::again);
    record_all(w, conclude(w.t, again, outcome(w, qualification::outcome::pass)));
    CHECK(state_of(w, fresh) == qualification::state::qualified);
  }
  SECTION("is aborted") {
    auto out = outcome(w, qualification::outcome::fail);
    out.aborted = true;
    out.why_aborted = "the stack is gone";
    record_all(w, conclude(w.t, e, out));
    CHECK(state_of(w, fresh) == qualification::state::inconclusive);
    CHECK(w.t.qualifications->at(fresh).detail == "the stack is gone");
    for (const auto& [id, row] : *w.t.runs)
      CHECK(row.run.status == run_status::aborted);
    CHECK(begun(w).purpose == evaluation_purpose::again);
  }
}

TEST_CASE("what is suspended holds again when it passes, and stays suspended when it does not") {
  auto w = world::site();
  qualify(w, {"q"}, impl_a);
  w.must(qualification_changed{{"q"}, qualification::event::drift, {}, "kernel"});
  auto e = begun(w);
  CHECK(e.purpose == evaluation_purpose::reverify);
  CHECK(e.opening.empty());
  SECTION("passes") {
    record_all(w, conclude(w.t, e, outcome(w, qualification::outcome::pass)));
    CHECK(state_of(w, {"q"}) == qualification::state::qualified);
  }
  SECTION("fails") {
    record_all(w, conclude(w.t, e, outcome(w, qualification::outcome::fail)));
    CHECK(state_of(w, {"q"}) == qualification::state::suspended);
  }
}

TEST_CASE("a new qualification replaces the one for the former artifact") {
  auto w = world::site();
  qualify(w, {"q"}, impl_a);
  auto other = artifact_a();
  other.files.front().sha256 = some_digest("new bytes");
  w.must(declared{other});
  auto manifest = manifest_digest(other);
  w.must(artifact_changed{{"m/a"}, manifest, artifact_state::present, {"h1"}, ""});
  w.must(artifact_changed{{"m/a"}, manifest, artifact_state::verified, {"h1"}, ""});
  auto e = begun(w);
  CHECK(e.purpose == evaluation_purpose::first);
  record_all(w, conclude(w.t, e, outcome(w, qualification::outcome::pass)));
  CHECK(state_of(w, {"q"}) == qualification::state::superseded);
  CHECK(state_of(w, fresh) == qualification::state::qualified);
}

TEST_CASE("what cannot be evaluated is refused by name") {
  auto w = world::site();
  CHECK(refusal_of(w, {"m/cpu-a/x"}) == "there is no implementation 'm/cpu-a/x'");
  CHECK(planned(w, {{"h1"}, some_digest("unseen")}).error().kind == problem_kind::unavailable);
  SECTION("a policy that is not declared") {
    w.must(declared{catalog::model{.id = {"m"}, .name = "m", .evaluation_policy = {"none"}}});
    CHECK(refusal_of(w) == "model 'm' has no evaluation policy that is declared");
  }
  SECTION("an artifact that is quarantined") {
    auto manifest = manifest_digest(artifact_a());
    w.must(artifact_changed{{"m/a"}, manifest, artifact_state::quarantined, {"h1"}, ""});
    CHECK(refusal_of(w) == "artifact 'm/a' is not verified");
  }
  SECTION("a suite whose text is no suite is refused before the first ask") {
    auto e = planned(w);
    REQUIRE(e);
    CHECK_FALSE(prepare_run(w.t, *e));
  }
}

TEST_CASE("no records say more than was seen: without an answer there is no task run") {
  auto w = world::site();
  auto e = begun(w);
  auto out = outcome(w, qualification::outcome::inconclusive);
  out.verdict.counts = {};
  auto all = conclude(w.t, e, out);
  REQUIRE(all.size() == 2);
  CHECK(std::get<eval_run>(all[0]).stage == run_stage::contract);
  CHECK(std::get<qualification_decided>(all[1]).runs.size() == 1);
}

} // namespace assay::ledger::test
