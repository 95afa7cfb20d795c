#include "src/base/limits.hpp"
#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::ledger::test {

namespace {

using qualification::event;
using qualification::state;

const qualification_id q1{"q1"};
const qualification_id q2{"q2"};

bool is_verdict(event e) {
  return e == event::pass || e == event::fail || e == event::no_evidence
         || e == event::reverify_pass;
}

/// q1 in `from`, with a good run, past its hour, and with the qualified successor q2.
world at(state from) {
  auto w = world::site();
  w.must(qualification_opened{q1, impl_a, {"lenient"}});
  w.must(qualification_changed{q1, event::start, {}, ""});
  w.must(good_run(w, "r1", q1));
  qualify(w, q2, impl_a);
  auto row = w.t.qualifications->at(q1);
  row.state = from;
  row.expires_at = w.now;
  w.t.load(row);
  return w;
}

/// The event in the record that carries it, with everything it asks for.
payload carrying(event e) {
  if (is_verdict(e))
    return decision(q1, e, {"r1"});
  return qualification_changed{q1, e, e == event::supersede ? std::optional{q2} : std::nullopt, ""};
}

/// An evaluating q1 with one run, changed as the case wants.
template <class Change>
world evaluated(Change change) {
  auto w = world::site();
  w.must(qualification_opened{q1, impl_a, {"lenient"}});
  w.must(qualification_changed{q1, event::start, {}, ""});
  auto run = good_run(w, "r1", q1);
  change(run);
  w.must(run);
  return w;
}

std::string why(world& w, const qualification_decided& d) {
  auto answer = w.say(d);
  auto* no = std::get_if<refusal>(&answer);
  return no ? no->text : "taken";
}

bool says(const std::string& text, std::string_view part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a qualification takes exactly the listed transitions") {
  for (auto from : qualification::states)
    for (auto e : qualification::events) {
      auto w = at(from);
      auto to = qualification::next(from, e);
      INFO(qualification::name(from) << " and " << qualification::name(e));
      CHECK(w.code(carrying(e)) == (to ? "taken" : "not_allowed"));
      CHECK(w.t.qualifications->at(q1).state == to.value_or(from));
    }
}

TEST_CASE("a verdict cannot be smuggled in as another change") {
  auto w = at(state::evaluating);
  CHECK(w.code(qualification_changed{q1, event::pass, {}, ""}) == "not_allowed");
  CHECK(w.code(qualification_decided{.id = q1, .verdict = event::start}) == "not_allowed");
}

TEST_CASE("a refused event names the legal ones") {
  auto w = at(state::inconclusive);
  auto no = std::get<refusal>(w.say(carrying(event::pass)));
  CHECK(says(no.text, "more_runs, give_up"));
}

TEST_CASE("opening freezes policy, suite, bytes and profile") {
  auto w = world::site();
  w.must(qualification_opened{q1, impl_a, {"lenient"}});
  auto stricter = lenient;
  stricter.score_at_least_ppm = 900'000;
  w.must(declared{stricter});
  const auto& q = w.t.qualifications->at(q1);
  CHECK(q.policy == lenient);
  CHECK(q.policy_record != w.t.policies->at({"lenient"}).record);
  CHECK(q.manifest == manifest_digest(artifact_a()));
}

TEST_CASE("a bare suite name opens a qualification under the default policy") {
  auto w = world::site();
  w.must(qualification_opened{q1, impl_a, {"s"}});
  CHECK(w.t.qualifications->at(q1).policy == catalog::default_policy({"s"}));
}

TEST_CASE("nothing is opened without implementation, policy or verified bytes") {
  auto w = world::site();
  CHECK(w.code(qualification_opened{q1, {"m/x/a"}, {"lenient"}}) == "not_found");
  CHECK(w.code(qualification_opened{q1, impl_a, {"none"}}) == "not_found");
  w.must(artifact_changed{
    {"m/a"}, manifest_digest(artifact_a()), artifact_state::quarantined, {}, ""});
  CHECK(w.code(qualification_opened{q1, impl_a, {"lenient"}}) == "not_approved");
}

TEST_CASE("a pass needs a complete run of the scored stage") {
  auto w = evaluated([](eval_run&) {});
  CHECK(says(why(w, decision(q1, event::pass, {})), "no complete run of the task stage"));
  CHECK(says(why(w, decision(q1, event::pass, {"r9"})), "there is no run"));
  auto aborted = evaluated([](eval_run& r) { r.status = run_status::aborted; });
  CHECK(says(why(aborted, decision(q1, event::pass, {"r1"})), "only complete runs count"));
  auto checks = evaluated([](eval_run& r) { r.stage = run_stage::contract; });
  CHECK(says(why(checks, decision(q1, event::pass, {"r1"})), "no complete run of the task stage"));
}

TEST_CASE("a pass meets each threshold of the policy at its edge and not below") {
  struct edge {
    std::uint32_t eval_run::*field;
    std::uint32_t least;
  };
  for (auto [field, least] :
       {edge{&eval_run::score_lower_ppm, 400'000},
        edge{&eval_run::distinct_answers, 2},
        edge{&eval_run::confidence_ppm, 950'000}}) {
    auto enough = evaluated([&](eval_run& r) { r.*field = least; });
    CHECK(why(enough, decision(q1, event::pass, {"r1"})) == "taken");
    auto less = evaluated([&](eval_run& r) { r.*field = least - 1; });
    CHECK(says(why(less, decision(q1, event::pass, {"r1"})), "wants at least"));
  }
  auto few = evaluated([](eval_run& r) { r.failed = 6; });
  CHECK(says(why(few, decision(q1, event::pass, {"r1"})), "answered items 19"));
}

TEST_CASE("no data is never a pass (I12)") {
  auto w = evaluated([](eval_run&) {});
  auto d = decision(q1, event::pass, {"r1"});
  d.predicates[0].outcome = predicate_outcome::no_data;
  CHECK(says(why(w, d), "no_data"));
  d.predicates[0].outcome = predicate_outcome::fail;
  CHECK(says(why(w, d), "fail"));
}

TEST_CASE("a comparison without a unit is no comparison (I22)") {
  auto w = evaluated([](eval_run&) {});
  auto d = decision(q1, event::pass, {"r1"});
  d.predicates[0].unit.clear();
  CHECK(says(why(w, d), "unit"));
}

TEST_CASE("evidence from two stacks carries no single decision (I13)") {
  auto w = evaluated([](eval_run&) {});
  w.must(stack_seen{{"h2"}, {"cpu-a"}, some_digest("stack 2"), stack_fields("2")});
  auto speed = good_run(w, "r2", q1);
  speed.stage = run_stage::performance;
  speed.fingerprint = some_digest("stack 2");
  w.must(speed);
  CHECK(says(why(w, decision(q1, event::pass, {"r1", "r2"})), "different stacks"));
  CHECK(why(w, decision(q1, event::pass, {"r1"})) == "taken");
}

TEST_CASE("a revocation that comes before the decision wins (I16)") {
  auto w = evaluated([](eval_run&) {});
  w.must(revocation{revocation_target::fingerprint, some_digest("stack 1"), ""});
  CHECK(says(why(w, decision(q1, event::pass, {"r1"})), "revoked"));
}

TEST_CASE("a pass holds for the policy's time unless less is asked") {
  auto longest = std::chrono::milliseconds{lenient.valid_for}.count();
  auto w = evaluated([](eval_run&) {});
  w.must(decision(q1, event::pass, {"r1"}));
  CHECK(w.t.qualifications->at(q1).expires_at.value == w.now.value + longest);
  auto greedy = evaluated([](eval_run&) {});
  auto d = decision(q1, event::pass, {"r1"});
  d.expires_at = {greedy.now.value + longest + 60'001};
  CHECK(greedy.code(d) == "bad_expiry");
  d.expires_at = greedy.now;
  CHECK(greedy.code(d) == "bad_expiry");
  d.expires_at = {greedy.now.value + 1};
  CHECK(greedy.code(d) == "taken");
}

TEST_CASE("a qualification expires at its hour and not before") {
  auto w = world::site();
  qualify(w, q1, impl_a);
  auto hour = w.t.qualifications->at(q1).expires_at;
  w.now = {hour.value - 1};
  CHECK(w.code(qualification_changed{q1, event::expire, {}, ""}) == "not_yet");
  w.now = hour;
  CHECK(w.code(qualification_changed{q1, event::expire, {}, ""}) == "taken");
}

TEST_CASE("re-verification needs runs from after the suspension and adds their stack") {
  auto w = world::site();
  qualify(w, q1, impl_a);
  w.must(qualification_changed{q1, event::drift, {}, "h1"});
  CHECK(says(why(w, decision(q1, event::reverify_pass, {"run of q1"})), "older than the suspension")
  );
  w.must(stack_seen{{"h1"}, {"cpu-a"}, some_digest("stack 2"), stack_fields("2")});
  auto run = good_run(w, "r2", q1);
  run.fingerprint = some_digest("stack 2");
  w.must(run);
  w.must(decision(q1, event::reverify_pass, {"r2"}));
  const auto& q = w.t.qualifications->at(q1);
  CHECK(q.state == state::qualified);
  CHECK(q.fingerprints.size() == 2);
}

TEST_CASE("one more stack joins a qualification that holds, and only that") {
  auto w = world::site();
  qualify(w, q1, impl_a);
  CHECK(w.code(qualification_extended{q1, {"run of q1"}, {}, ""}) == "unchanged");
  w.must(stack_seen{{"h2"}, {"cpu-a"}, some_digest("stack 2"), stack_fields("2")});
  auto run = good_run(w, "r2", q1);
  run.fingerprint = some_digest("stack 2");
  w.must(run);
  w.must(qualification_extended{q1, {"r2"}, {}, ""});
  CHECK(w.t.qualifications->at(q1).fingerprints.size() == 2);
  w.must(qualification_changed{q1, event::drift, {}, ""});
  CHECK(w.code(qualification_extended{q1, {"r2"}, {}, ""}) == "not_allowed");
}

TEST_CASE("an evaluation without a verdict is repeated only so often") {
  auto w = at(state::inconclusive);
  auto row = w.t.qualifications->at(q1);
  row.attempts = limits::qualification_attempts - 1;
  w.t.load(row);
  CHECK(w.code(carrying(event::more_runs)) == "taken");
  w.must(decision(q1, event::no_evidence, {}));
  CHECK(w.code(carrying(event::more_runs)) == "attempts_spent");
  CHECK(w.code(carrying(event::give_up)) == "taken");
}

TEST_CASE("only a newer qualification of the same implementation supersedes") {
  auto w = world::site();
  qualify(w, q1, impl_a);
  qualify(w, {"other"}, impl_b);
  auto by = [](std::string id) {
    return qualification_changed{q1, event::supersede, qualification_id{std::move(id)}, ""};
  };
  CHECK(w.code(by("q1")) == "bad_successor");
  CHECK(w.code(by("other")) == "bad_successor");
  CHECK(w.code(qualification_changed{q1, event::supersede, {}, ""}) == "bad_successor");
  qualify(w, q2, impl_a);
  CHECK(w.code(by("q2")) == "taken");
}

TEST_CASE("the history of an implementation includes the decisions about its qualifications") {
  auto w = world::site();
  qualify(w, q1, impl_a);
  bool found = false;
  for (const auto& change : w.last.rows)
    if (change.row)
      if (auto* s = std::get_if<subject_row>(&*change.row))
        found = found || s->what == subject_of("implementation", impl_a.value);
  CHECK(found);
}

} // namespace assay::ledger::test
