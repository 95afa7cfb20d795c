#include "src/base/limits.hpp"
#include "src/moves/advance.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <random>

namespace assay::moves {

namespace {

using catalog::implementation_status;

const implementation_id a{"m/p/a"};
const implementation_id b{"m/p/b"};

/// A move that makes `b` a canary beside `a`, and a world in which all is well.
struct scene {
  open_move move;
  observed seen;

  explicit scene(state at = state::proposed) {
    auto first = plan_promotion({{"m"}, 0, {}}, a, implementation_status::production);
    route now{{"m"}, 1, first->after};
    auto p = plan_promotion(now, b, implementation_status::canary);
    move = {{"mv"}, *p, at, {0}, 0, 0};
    seen.current = now;
    seen.usable = {a, b};
    seen.ready = {a, b};
    seen.acknowledged = 1;
    if (at == state::ramping || at == state::holding || at == state::observing || at == state::reverting)
      put(p->after);
  }

  void put(const vectors& v) {
    seen.current.carried = v;
    move.generation = ++seen.current.generation;
  }

  /// What apply would do with the proposal.
  void apply(const propose& p) {
    const auto to = next(move.state, p.what);
    REQUIRE(to);
    if (p.carry) {
      REQUIRE(changes_route(p.what));
      REQUIRE(p.expected_generation == seen.current.generation);
      put(*p.carry);
    }
    if (p.what == event::retarget || p.what == event::manual_vector)
      ++move.targets_tried;
    if (*to != move.state)
      move.entered_at = seen.now;
    move.state = *to;
  }

  event proposed() const {
    const auto next = advance(move, seen);
    REQUIRE(std::holds_alternative<propose>(next));
    return std::get<propose>(next).what;
  }

  bool waits() const { return std::holds_alternative<wait>(advance(move, seen)); }
};

wall_ms at(std::chrono::milliseconds span) {
  return {span.count()};
}

} // namespace

TEST_CASE("a move in a world where all is well goes through every state in order") {
  scene s;
  std::vector<event> seen;
  for (int i = 0; i < 20 && !is_final(s.move.state); ++i) {
    const auto p = std::get<propose>(advance(s.move, s.seen));
    seen.push_back(p.what);
    s.apply(p);
    s.seen.acknowledged = s.seen.current.generation;
  }
  CHECK(s.move.state == state::committed);
  CHECK(
    seen
    == std::
      vector{event::authorise, event::stage, event::step, event::acked, event::bake_over, event::confirm}
  );
  CHECK(s.seen.current.carried == s.move.plan.after);
}

TEST_CASE("an implementation that is not qualified denies the move, by name") {
  scene s;
  s.seen.usable = {a};
  const auto next = std::get<propose>(advance(s.move, s.seen));
  CHECK(next.what == event::deny);
  CHECK(next.why == "not qualified now: m/p/b");
}

TEST_CASE("a route that changed since the plan denies the move") {
  scene s;
  s.seen.current.generation = 2;
  CHECK(s.proposed() == event::deny);
}

TEST_CASE("a qualification lost before the step cancels, and after the step turns back") {
  for (auto from : {state::authorised, state::staged}) {
    scene s{from};
    s.seen.usable = {a};
    CHECK(s.proposed() == event::cancel);
  }
  for (auto from : {state::ramping, state::holding, state::observing}) {
    scene s{from};
    s.seen.usable = {a};
    CHECK(s.proposed() == event::abort);
  }
}

TEST_CASE("turning back outranks whatever else could be done next") {
  for (auto from : {state::ramping, state::holding, state::observing}) {
    scene s{from};
    s.seen.acknowledged = s.seen.current.generation;
    s.seen.asked = wish::abort;
    CHECK(s.proposed() == event::abort);
  }
}

TEST_CASE("staging waits for ready replicas until its deadline and not longer") {
  scene s{state::authorised};
  s.seen.ready = {a};
  s.seen.now = at(limits::move_stage_within - std::chrono::milliseconds{1});
  CHECK(s.waits());
  s.seen.now = at(limits::move_stage_within);
  CHECK(s.proposed() == event::cancel);
}

TEST_CASE("a step waits for the last ingress until its deadline and not longer") {
  scene s{state::ramping};
  s.seen.now = at(limits::move_ack_within - std::chrono::milliseconds{1});
  CHECK(s.waits());
  s.seen.acknowledged = s.move.generation;
  CHECK(s.proposed() == event::acked);
  s.seen.not_waited_for = "n3";
  CHECK(
    std::get<propose>(advance(s.move, s.seen)).why
    == "every ingress runs generation 2; not waited for, as they hold no credit: n3"
  );
  s.seen.acknowledged = s.move.generation - 1;
  s.seen.last = "n2";
  s.seen.now = at(limits::move_ack_within);
  const auto back = std::get<propose>(advance(s.move, s.seen));
  CHECK(back.what == event::abort);
  CHECK(back.why == "the ingress of n2 runs generation 1, the move made 2");
}

TEST_CASE("guards without data hold a guarded move for ever, and do not concern another") {
  for (auto from : {state::holding, state::observing}) {
    scene s{from};
    s.seen.now = at(std::chrono::hours{1'000});
    s.move.plan.guarded = true;
    CHECK(s.waits());
    s.seen.guards = guard::fail;
    CHECK(s.proposed() == event::abort);
    s.seen.guards = guard::pass;
    CHECK(s.proposed() == (from == state::holding ? event::bake_over : event::confirm));
    s.move.plan.guarded = false;
    s.seen.guards = guard::no_data;
    CHECK_FALSE(s.waits());
  }
}

TEST_CASE("hold and bake last as long as the plan says") {
  scene s{state::holding};
  s.move.plan.hold = std::chrono::seconds{10};
  s.seen.now = {9'999};
  CHECK(s.waits());
  s.seen.now = {10'000};
  CHECK(s.proposed() == event::bake_over);
}

TEST_CASE("a revert puts the vectors before back and ends when every ingress runs them") {
  scene s{state::reverting};
  const auto p = std::get<propose>(advance(s.move, s.seen));
  CHECK(p.what == event::retarget);
  CHECK(p.carry == s.move.plan.before);
  s.apply(p);
  CHECK(s.waits());
  s.seen.acknowledged = s.move.generation;
  CHECK(s.proposed() == event::revert_acked);
}

TEST_CASE("a revert before any step needs no new vectors") {
  scene s{state::staged};
  s.move.state = state::reverting;
  CHECK(s.proposed() == event::revert_acked);
}

TEST_CASE("a way back that is not proven any more is passed over, down to carrying nothing") {
  scene s{state::reverting};
  s.seen.usable = {b};
  const auto p = std::get<propose>(advance(s.move, s.seen));
  CHECK(p.what == event::retarget);
  CHECK(p.carry == vectors{});
}

TEST_CASE("a target that loses its qualification while it is put in place is left for the next") {
  scene s{state::reverting};
  s.apply(std::get<propose>(advance(s.move, s.seen)));
  s.seen.usable = {};
  const auto p = std::get<propose>(advance(s.move, s.seen));
  CHECK(p.what == event::retarget);
  CHECK(p.carry == vectors{});
}

TEST_CASE("a revert that no ingress follows calls a person, who can put vectors in place") {
  scene s{state::reverting};
  for (int i = 0; i < 10 && s.move.state == state::reverting; ++i) {
    const auto next = advance(s.move, s.seen);
    if (const auto* p = std::get_if<propose>(&next))
      s.apply(*p);
    else
      s.seen.now = *std::get<wait>(next).until;
  }
  REQUIRE(s.move.state == state::revert_failed);
  CHECK(std::holds_alternative<call_person>(advance(s.move, s.seen)));
  s.apply({event::manual_vector, s.move.plan.before, s.seen.current.generation, "by hand"});
  s.seen.acknowledged = s.move.generation;
  CHECK(s.proposed() == event::revert_acked);
}

TEST_CASE("an irreversible move sheds its load when it must turn back") {
  scene s{state::reverting};
  s.move.plan.inverse.reversible = false;
  CHECK(std::get<propose>(advance(s.move, s.seen)).carry == vectors{});
}

TEST_CASE(
  "whatever happens, proposals are legal, only proven vectors are put in place, and the move ends"
) {
  for (std::uint32_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    std::mt19937 dice{seed};
    const auto chance = [&](unsigned percent) { return dice() % 100 < percent; };
    scene s;
    s.move.plan.guarded = chance(50);
    for (int i = 0; i < 200 && is_open(s.move.state) && s.move.state != state::revert_failed; ++i) {
      s.seen.now.value += static_cast<std::int64_t>(dice() % 60'000);
      s.seen.usable = chance(80) ? std::vector{a, b}
                                 : (chance(50) ? std::vector{a} : std::vector<implementation_id>{});
      s.seen.ready = chance(70) ? s.seen.usable : std::vector<implementation_id>{};
      s.seen.guards = chance(80) ? guard::pass : (chance(50) ? guard::fail : guard::no_data);
      s.seen.asked = chance(3) ? wish::abort : wish::none;
      if (chance(60))
        s.seen.acknowledged = s.seen.current.generation;
      const auto next = advance(s.move, s.seen);
      const auto* p = std::get_if<propose>(&next);
      if (!p)
        continue;
      if (p->carry) {
        REQUIRE(unusable(*p->carry, s.seen.usable).empty());
        REQUIRE(validate(*p->carry));
      }
      s.apply(*p);
    }
    CHECK((!is_open(s.move.state) || s.move.state == state::revert_failed));
  }
}

} // namespace assay::moves
