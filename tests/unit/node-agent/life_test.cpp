#include "node-agent/runtime/life.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::agent::life {

namespace {

using namespace std::chrono_literals;

const auto dawn = steady_time{} + 1h;
const auto two_looks = rules{.ready_times = 2, .live_failures = 3, .cold_start = 10s};
const auto not_ours = rules{.ready_times = 2, .live_failures = 3, .cold_start = 10s, .ours = false};

sighted saw(verdict v, steady_time now = dawn) {
  return {now, v, "GET /health answered 500", false, {}};
}

template <class Effect>
bool asks_for(const step& s) {
  for (const auto& effect : s.effects)
    if (std::holds_alternative<Effect>(effect))
      return true;
  return false;
}

/// Feeds events one after the other and returns the last step.
step live(const rules& rules, state s, std::initializer_list<event> events) {
  step last{std::move(s), {}};
  for (const auto& what : events)
    last = advance(rules, last.next, what);
  return last;
}

replica_phase phase_after(const rules& rules, state s, std::initializer_list<event> events) {
  return phase_of(live(rules, std::move(s), events).next);
}

} // namespace

TEST_CASE("a replica is not ready before its profile's observations in a row and a proof") {
  auto first = live(two_looks, loading{dawn}, {saw(verdict::good)});
  CHECK(phase_of(first.next) == replica_phase::loading);
  auto second = advance(two_looks, first.next, saw(verdict::good));
  CHECK(phase_of(second.next) == replica_phase::proving);
  CHECK(asks_for<prove>(second));
  CHECK(
    phase_of(advance(two_looks, second.next, saw(verdict::good)).next) == replica_phase::proving
  );
  CHECK(phase_of(advance(two_looks, second.next, proved{dawn}).next) == replica_phase::ready);
}

TEST_CASE("an observation that is not good starts the row anew") {
  auto between =
    live(two_looks, loading{dawn}, {saw(verdict::good), saw(verdict::loading), saw(verdict::good)});
  CHECK(phase_of(between.next) == replica_phase::loading);
}

TEST_CASE("an answer that the profile does not classify makes a replica suspect, never ready") {
  auto unknown = saw(verdict::unclassified);
  CHECK(phase_after(two_looks, loading{dawn}, {unknown}) == replica_phase::suspect);
  CHECK(phase_after(two_looks, ready{}, {unknown, unknown, unknown}) == replica_phase::suspect);
}

TEST_CASE("a replica whose proof fails is suspect and says why") {
  auto failed = live(two_looks, proving{dawn}, {proof_failed{dawn, "500"}});
  CHECK(phase_of(failed.next) == replica_phase::suspect);
  CHECK(reason_of(failed.next) == "the proof failed: 500");
}

TEST_CASE("what an earlier agent left is not reported before it was looked at") {
  auto left = two_looks;
  left.found = true;
  auto begun = advance(left, absent{}, ticked{dawn});
  CHECK(asks_for<launch>(begun));
  CHECK_FALSE(asks_for<report>(begun));
  CHECK_FALSE(is_told(left, begun.next));
  CHECK(is_told(two_looks, begun.next));
  auto well = advance(left, begun.next, launched{dawn, true});
  CHECK(phase_of(well.next) == replica_phase::ready);
  CHECK(asks_for<report>(well));
  CHECK(is_told(left, well.next));
  CHECK(phase_after(left, starting{}, {launched{dawn, false}}) == replica_phase::loading);
  CHECK(phase_after(left, starting{}, {ended{"gone"}}) == replica_phase::failed);
}

TEST_CASE("a suspect that looks well again has to prove itself again") {
  auto well = live(two_looks, suspect{dawn, 0, "x"}, {saw(verdict::good), saw(verdict::good)});
  CHECK(phase_of(well.next) == replica_phase::proving);
  CHECK(asks_for<prove>(well));
}

TEST_CASE("a serving replica is suspect at the last of its allowed failures and not one before") {
  auto gone_quiet = saw(verdict::unreachable);
  CHECK(phase_after(two_looks, ready{}, {gone_quiet, gone_quiet}) == replica_phase::ready);
  CHECK(
    phase_after(two_looks, ready{}, {gone_quiet, gone_quiet, gone_quiet}) == replica_phase::suspect
  );
  CHECK(
    phase_after(two_looks, ready{}, {gone_quiet, gone_quiet, saw(verdict::good), gone_quiet})
    == replica_phase::ready
  );
}

TEST_CASE("a busy replica whose token counters move is never doubted for a shallow probe") {
  auto busy = saw(verdict::unreachable);
  busy.progressed = true;
  CHECK(phase_after(two_looks, ready{}, {busy, busy, busy, busy}) == replica_phase::ready);
}

TEST_CASE("load moves a replica between ready and saturated") {
  CHECK(phase_after(two_looks, ready{}, {saw(verdict::saturated)}) == replica_phase::saturated);
  CHECK(phase_after(two_looks, saturated{}, {saw(verdict::good)}) == replica_phase::ready);
}

TEST_CASE("an exit that nobody asked for is a failure in every phase that has a process") {
  for (const auto& s : std::initializer_list<state>{
         starting{},
         loading{dawn},
         proving{dawn},
         ready{},
         saturated{},
         suspect{dawn, 0, ""},
         draining{dawn, ""}}) {
    auto end = live(two_looks, s, {ended{"ended with exit code 0"}});
    CHECK(phase_of(end.next) == replica_phase::failed);
    CHECK(reason_of(end.next) == "ended with exit code 0");
  }
}

TEST_CASE("an exit after an order to stop is no failure, unless it was stopped for not working") {
  CHECK(phase_after(two_looks, stopping{"asked", false}, {ended{"x"}}) == replica_phase::gone);
  CHECK(phase_after(two_looks, stopping{"sick", true}, {ended{"x"}}) == replica_phase::failed);
}

TEST_CASE("a port that belongs to a stranger stops the replica in every observed phase") {
  for (const auto& s : std::initializer_list<state>{
         loading{dawn}, proving{dawn}, ready{}, saturated{}, suspect{dawn, 0, ""}}) {
    auto stopped = live(two_looks, s, {saw(verdict::stranger)});
    CHECK(phase_of(stopped.next) == replica_phase::stopping);
    CHECK(asks_for<stop_runtime>(stopped));
  }
}

TEST_CASE("a cold start ends at its limit and not a moment before") {
  auto before = live(two_looks, loading{dawn}, {ticked{dawn + 9'999ms}});
  CHECK(phase_of(before.next) == replica_phase::loading);
  auto at = live(two_looks, loading{dawn}, {ticked{dawn + 10s}});
  CHECK(phase_of(at.next) == replica_phase::stopping);
  CHECK(reason_of(at.next) == "it has not become ready for 10 s");
}

TEST_CASE("a proof counts as part of the cold start") {
  CHECK(phase_after(two_looks, proving{dawn}, {ticked{dawn + 10s}}) == replica_phase::stopping);
}

TEST_CASE("a suspect is stopped when its time is up, somebody else's server is left alone") {
  auto late = ticked{dawn + 60s};
  CHECK(phase_after(two_looks, suspect{dawn, 0, "x"}, {late}) == replica_phase::stopping);
  CHECK(phase_after(not_ours, suspect{dawn, 0, "x"}, {late}) == replica_phase::suspect);
}

TEST_CASE("an order to stop drains a serving replica until it is idle or its grace is over") {
  auto drained = live(two_looks, ready{}, {stop_asked{dawn, "scaled down", 5s}});
  CHECK(phase_of(drained.next) == replica_phase::draining);
  CHECK_FALSE(asks_for<stop_runtime>(drained));
  auto idle = saw(verdict::good);
  idle.running = 0;
  CHECK(asks_for<stop_runtime>(advance(two_looks, drained.next, idle)));
  idle.running = 1;
  CHECK_FALSE(asks_for<stop_runtime>(advance(two_looks, drained.next, idle)));
  CHECK_FALSE(asks_for<stop_runtime>(advance(two_looks, drained.next, ticked{dawn + 4'999ms})));
  CHECK(asks_for<stop_runtime>(advance(two_looks, drained.next, ticked{dawn + 5s})));
}

TEST_CASE("an order to stop without grace, or before it serves, stops at once") {
  CHECK(asks_for<stop_runtime>(live(two_looks, ready{}, {stop_asked{dawn, "x", 0s}})));
  CHECK(asks_for<stop_runtime>(live(two_looks, loading{dawn}, {stop_asked{dawn, "x", 5s}})));
  CHECK(asks_for<stop_runtime>(live(two_looks, starting{}, {stop_asked{dawn, "x", 5s}})));
}

TEST_CASE("what comes after the end changes nothing") {
  for (const auto& what : std::initializer_list<event>{
         launched{dawn}, saw(verdict::good), proved{dawn}, ended{"late"}, ticked{dawn + 1h}}) {
    auto after = live(two_looks, gone{"it failed", true}, {what});
    CHECK(phase_of(after.next) == replica_phase::failed);
    CHECK(reason_of(after.next) == "it failed");
    CHECK(after.effects.empty());
  }
}

} // namespace assay::agent::life
