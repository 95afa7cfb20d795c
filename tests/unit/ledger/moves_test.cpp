#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::ledger::test {

namespace {

using moves::event;
using moves::state;

const move_id mv{"mv"};
const model_id m{"m"};

/// Both implementations are qualified, `impl_a` serves, and `mv` from a to b stands in `from`.
world at(state from) {
  auto w = world::site();
  qualify(w, {"qa"}, impl_a);
  qualify(w, {"qb"}, impl_b);
  promote(w, "first", impl_a, {"qa"});
  w.must(plan(w, "mv", all_to(impl_b)));
  auto row = w.t.moves->at(mv);
  row.state = from;
  bool stepped = from == state::ramping || from == state::holding || from == state::observing
                 || from == state::reverting || from == state::revert_failed;
  if (stepped) {
    row.steps_done = 1;
    row.generation = 2;
    auto route = w.t.routes->at(m);
    route.route.generation = 2;
    route.route.carried = row.plan.after;
    w.t.load(route);
  }
  if (from == state::reverting)
    row.targets_tried = 1;
  w.t.load(row);
  return w;
}

move_route_changed changes(const world& w, event e, moves::vectors v) {
  auto generation = w.t.routes->at(m).route.generation;
  return {mv, e, 0, generation + 1, std::move(v), observation::none, ""};
}

/// The event in the record that carries it, with everything it asks for.
payload carrying(const world& w, event e) {
  const auto& row = w.t.moves->at(mv);
  switch (e) {
  case event::authorise:
    return move_authorised{mv, {{"qa"}, {"qb"}}, {}};
  case event::step: {
    auto step = changes(w, e, row.plan.after);
    step.step = row.steps_done;
    return step;
  }
  case event::retarget:
  case event::manual_vector:
    return changes(w, e, row.plan.before);
  case event::stage:
  case event::acked:
  case event::revert_acked:
    return move_acked{mv, e, {{"ingress", w.t.routes->at(m).route.generation}}};
  default:
    return move_changed{mv, e, observation::none, ""};
  }
}

/// A move that is guarded, in `from`.
world guarded(state from) {
  auto w = at(from);
  auto row = w.t.moves->at(mv);
  row.plan.guarded = true;
  w.t.load(row);
  return w;
}

} // namespace

TEST_CASE("a move takes exactly the listed transitions") {
  for (auto from : moves::states)
    for (auto e : moves::events) {
      auto w = at(from);
      auto to = moves::next(from, e);
      // The plan has one step, which is taken in `holding`: there the event is legal, the step not.
      bool last_step_taken = from == state::holding && e == event::step;
      INFO(moves::name(from) << " and " << moves::name(e));
      CHECK(
        w.code(carrying(w, e))
        == (last_step_taken ? "bad_step" : to ? "taken" : "not_allowed")
      );
      if (!last_step_taken)
        CHECK(w.t.moves->at(mv).state == to.value_or(from));
    }
}

TEST_CASE("an event in the wrong kind of record is refused") {
  auto w = at(state::staged);
  CHECK(w.code(move_changed{mv, event::step, observation::none, ""}) == "not_allowed");
  CHECK(w.code(move_acked{mv, event::cancel, {}}) == "not_allowed");
  w = at(state::proposed);
  CHECK(w.code(move_changed{mv, event::authorise, observation::none, ""}) == "not_allowed");
}

TEST_CASE("a route has one open move (I9)") {
  auto w = at(state::holding);
  CHECK(w.code(plan(w, "second", all_to(impl_a))) == "move_open");
}

TEST_CASE("a move planned for another generation is refused (I9)") {
  auto w = at(state::cancelled);
  auto p = plan(w, "next", all_to(impl_b));
  auto stale = p;
  stale.expected_generation = 0;
  CHECK(w.code(stale) == "stale_generation");
  stale = p;
  stale.before = all_to(impl_b);
  CHECK(w.code(stale) == "stale_generation");
  CHECK(w.code(p) == "taken");
}

TEST_CASE("a plan is whole: steps end at after, shares add up, the way back is before") {
  auto w = at(state::cancelled);
  auto p = plan(w, "next", all_to(impl_b));
  auto bad = p;
  bad.steps.clear();
  CHECK(w.code(bad) == "bad_plan");
  bad = p;
  bad.steps[0].carried = bad.before;
  CHECK(w.code(bad) == "bad_plan");
  bad = p;
  bad.inverse.target = {};
  CHECK(w.code(bad) == "bad_plan");
  bad = p;
  bad.inverse.irreversible = true;
  CHECK(w.code(bad) == "bad_plan");
  bad = p;
  bad.guards = {{"ttft", 100, "ms", 1000, 10}};
  CHECK(w.code(bad) == "bad_plan");
  bad = plan(w, "next", all_to(impl_a));
  CHECK(w.code(bad) == "unchanged");
}

TEST_CASE("shares are 10,000 parts with floors under ceilings (I8)") {
  auto w = at(state::cancelled);
  auto with = [&](std::uint32_t floor, std::uint32_t ceiling) {
    moves::vectors v{{{impl_b, moves::standing::production, floor, ceiling}}, {}};
    return plan(w, "next", v);
  };
  CHECK(w.code(with(10'001, 10'001)) == "bad_vectors");
  CHECK(w.code(with(10'000, 9'999)) == "bad_vectors");
  CHECK(w.code(with(0, 9'999)) == "bad_vectors");
  CHECK(w.code(with(0, 10'000)) == "taken");
}

TEST_CASE("a move carries only implementations of its model") {
  auto w = at(state::cancelled);
  CHECK(w.code(plan(w, "next", all_to({"m/none/a"}))) == "not_found");
  w.must(declared{catalog::model{.id = {"n"}, .name = "n"}});
  auto foreign = plan(w, "next", all_to(impl_b));
  foreign.model = {"n"};
  foreign.expected_generation = 0;
  foreign.before = {};
  foreign.inverse.target = {};
  CHECK(w.code(foreign) == "bad_vectors");
}

TEST_CASE("an authorisation names a current qualification of everything that will carry (I7)") {
  auto w = at(state::proposed);
  CHECK(w.code(move_authorised{mv, {{"qa"}}, {}}) == "not_qualified");
  w.must(qualification_changed{{"qb"}, qualification::event::regression, {}, ""});
  CHECK(w.code(move_authorised{mv, {{"qa"}, {"qb"}}, {}}) == "not_qualified");
}

TEST_CASE("a waiver of gate 5 authorises where a qualification is missing") {
  auto w = at(state::proposed);
  w.must(qualification_changed{{"qb"}, qualification::event::regression, {}, ""});
  w.must(waiver{"w4", impl_b, {4}, {w.now.value + 1'000}, "try"});
  CHECK(w.code(move_authorised{mv, {}, {"w4"}}) == "not_qualified");
  w.must(waiver{"w5", impl_b, {5}, {w.now.value + 1'000}, "try"});
  CHECK(w.code(move_authorised{mv, {}, {"w5"}}) == "taken");
}

TEST_CASE("an authorisation is of the qualifications as they were judged, or of none (I16)") {
  auto w = at(state::proposed);
  auto version = [&](const char* id) { return w.t.qualifications->at({id}).seq; };
  auto judged = [&](std::vector<std::uint64_t> versions) {
    return move_authorised{mv, {{"qa"}, {"qb"}}, {}, std::move(versions)};
  };
  CHECK(w.code(judged({version("qa")})) == "bad_authorisation");
  CHECK(w.code(judged({version("qa"), version("qb") - 1})) == "stale_qualification");
  auto before = judged({version("qa"), version("qb")});
  // Suspended and verified again: it holds, and is another than was judged.
  w.must(qualification_changed{{"qb"}, qualification::event::drift, {}, ""});
  w.must(good_run(w, "again", {"qb"}));
  w.must(decision({"qb"}, qualification::event::reverify_pass, {"again"}));
  CHECK(w.code(before) == "stale_qualification");
  CHECK(w.code(judged({version("qa"), version("qb")})) == "taken");
}

TEST_CASE("a move freezes a policy that stands, and keeps its digest (I11)") {
  auto w = at(state::cancelled);
  auto p = plan(w, "next", all_to(impl_b));
  p.policy = some_digest("none");
  CHECK(w.code(p) == "unknown_policy");
  auto frozen = w.t.policies->at({"lenient"}).record;
  p.policy = frozen;
  w.must(p);
  auto stricter = lenient;
  stricter.score_at_least_ppm = 900'000;
  w.must(declared{stricter});
  CHECK(w.t.policies->at({"lenient"}).record != frozen);
  CHECK(w.t.moves->at({"next"}).plan.policy == frozen);
}

TEST_CASE("an authorisation needs a way back that is proven now (I10)") {
  auto w = at(state::proposed);
  auto row = w.t.moves->at(mv);
  row.plan.inverse.shed_load = false;
  w.t.load(row);
  w.must(qualification_changed{{"qa"}, qualification::event::revoke, {}, ""});
  CHECK(w.code(move_authorised{mv, {{"qb"}}, {}}) == "no_way_back");
  row.plan.inverse.irreversible = true;
  w.t.load(row);
  CHECK(w.code(move_authorised{mv, {{"qb"}}, {}}) == "taken");
}

TEST_CASE("a step onto something that lost its qualification is refused (I7)") {
  auto w = at(state::staged);
  w.must(qualification_changed{{"qb"}, qualification::event::drift, {}, ""});
  CHECK(w.code(carrying(w, event::step)) == "not_qualified");
}

TEST_CASE("the route's generation goes up by one with each change of it (I8)") {
  auto w = at(state::staged);
  auto step = changes(w, event::step, all_to(impl_b));
  step.generation = 3;
  CHECK(w.code(step) == "stale_generation");
  step.generation = 1;
  CHECK(w.code(step) == "stale_generation");
  step.generation = 2;
  CHECK(w.code(step) == "taken");
  const auto& route = w.t.routes->at(m);
  CHECK(route.route.generation == 2);
  CHECK(route.route.carried == all_to(impl_b));
  CHECK(route.by == mv);
}

TEST_CASE("a step other than the plan's next one is refused") {
  auto w = at(state::staged);
  auto step = changes(w, event::step, all_to(impl_a));
  CHECK(w.code(step) == "bad_step");
  step = changes(w, event::step, all_to(impl_b));
  step.step = 1;
  CHECK(w.code(step) == "bad_step");
}

TEST_CASE("data planes acknowledge the generation that was set, not an older one") {
  auto w = at(state::ramping);
  CHECK(w.code(move_acked{mv, event::acked, {}}) == "not_acknowledged");
  CHECK(w.code(move_acked{mv, event::acked, {{"i", 2}, {"j", 1}}}) == "not_acknowledged");
  CHECK(w.code(move_acked{mv, event::acked, {{"i", 2}, {"j", 3}}}) == "taken");
}

TEST_CASE("a guarded move goes on only on a pass; no data holds it (I12)") {
  for (auto [from, e] :
       {std::pair{state::holding, event::bake_over}, std::pair{state::observing, event::confirm}})
    for (auto seen :
         {observation::none, observation::fail, observation::no_data, observation::pass}) {
      auto w = guarded(from);
      INFO(moves::name(e) << " on " << name(seen));
      CHECK(
        w.code(move_changed{mv, e, seen, ""}) == (seen == observation::pass ? "taken" : "guards")
      );
    }
}

TEST_CASE("a step is held and a move is observed for as long as the plan says") {
  auto w = at(state::holding);
  auto row = w.t.moves->at(mv);
  row.plan.steps[0].hold_ms = 1'000;
  row.plan.bake_ms = 500;
  row.changed_at = w.now;
  w.t.load(row);
  w.now.value += 999;
  CHECK(w.code(carrying(w, event::bake_over)) == "too_early");
  w.now.value += 1;
  CHECK(w.code(carrying(w, event::bake_over)) == "taken");
  w.now.value += 499;
  CHECK(w.code(carrying(w, event::confirm)) == "too_early");
  w.now.value += 1;
  CHECK(w.code(carrying(w, event::confirm)) == "taken");
}

TEST_CASE("a revert puts only vectors of the inverse plan in place, proven ones (I10)") {
  auto w = at(state::reverting);
  CHECK(w.code(changes(w, event::retarget, all_to(impl_b))) == "bad_target");
  w.must(qualification_changed{{"qa"}, qualification::event::revoke, {}, ""});
  CHECK(w.code(changes(w, event::retarget, all_to(impl_a))) == "no_way_back");
  CHECK(w.code(changes(w, event::retarget, {})) == "taken");
  CHECK(w.t.routes->at(m).reverting);
}

TEST_CASE("a superseded qualification still leads back until it expires") {
  auto w = at(state::reverting);
  qualify(w, {"qa2"}, impl_a);
  w.must(qualification_changed{{"qa"}, qualification::event::supersede, qualification_id{"qa2"}, ""}
  );
  w.must(qualification_changed{{"qa2"}, qualification::event::revoke, {}, ""});
  CHECK(w.code(changes(w, event::retarget, all_to(impl_a))) == "taken");
}

TEST_CASE("an aborted step is not reverted before the route was changed back") {
  auto w = at(state::observing);
  w.must(move_changed{mv, event::abort, observation::fail, "slow"});
  move_acked done{mv, event::revert_acked, {{"ingress", 2}}};
  CHECK(w.code(done) == "not_reverted");
  w.must(changes(w, event::retarget, all_to(impl_a)));
  done.nodes[0].generation = 3;
  CHECK(w.code(done) == "taken");
}

TEST_CASE("a move that changed nothing reverts without touching the route") {
  auto w = at(state::authorised);
  w.must(move_changed{mv, event::abort, observation::none, ""});
  CHECK(w.code(move_acked{mv, event::revert_acked, {}}) == "taken");
  CHECK(w.t.routes->at(m).route.generation == 1);
}

TEST_CASE("only a committed move of the same route can be undone by another") {
  auto w = at(state::cancelled);
  auto p = plan(w, "undo", {});
  p.inverse_of = mv;
  CHECK(w.code(p) == "bad_plan");
  p.inverse_of = move_id{"first"};
  CHECK(w.code(p) == "taken");
}

TEST_CASE("every record of a move is in the history of its route") {
  auto w = at(state::staged);
  w.must(carrying(w, event::step));
  bool found = false;
  for (const auto& change : w.last.rows)
    if (change.row)
      if (auto* s = std::get_if<subject_row>(&*change.row))
        found = found || s->what == subject_of("route", "m");
  CHECK(found);
}

} // namespace assay::ledger::test
