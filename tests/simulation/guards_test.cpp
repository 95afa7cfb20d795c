// Each guard and each promise of the driver, switched off alone: the simulation must find the fault
// within its seeds, and the seed that found it must be clean with everything on.
//
// Runs are children, for what a missing guard breaks may be the process. ASSAY_HUNT=200 tries that
// many seeds and prints each that finds the fault.

#include "tests/simulation/child.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <iostream>

namespace assay::simulation {

namespace {

using guard = bool consensus::guard_switches::*;
using mistake = bool mistakes::*;

struct seeds {
  std::uint64_t first = 1;
  std::uint64_t last = 1;
};

/// The first seed that fails, or 0.
std::uint64_t hunt(const profile& how, seeds where) {
  const char* wanted = std::getenv("ASSAY_HUNT");
  const auto last = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : where.last;
  std::uint64_t found = 0;
  for (auto seed = where.first; seed <= last && (found == 0 || wanted != nullptr); ++seed) {
    const auto said = failure_in_child(seed, how);
    if (said.empty())
      continue;
    found = found == 0 ? seed : found;
    if (wanted != nullptr)
      std::cout << seed << ": " << said << std::endl;
  }
  return found;
}

void expect_found(const profile& sound, const profile& broken, seeds where) {
  const auto seed = hunt(broken, where);
  INFO("the seed that found it: " << seed);
  REQUIRE(seed != 0);
  CHECK(failure_in_child(seed, sound) == "");
}

void expect_found(const profile& sound, guard without, seeds where) {
  auto broken = sound;
  broken.guards.*without = false;
  expect_found(sound, broken, where);
}

void expect_found(const profile& sound, mistake made, seeds where) {
  auto broken = sound;
  broken.made.*made = true;
  expect_found(sound, broken, where);
}

// -- runs that bring a fault out ----------------------------------------------------------------

profile rough() {
  profile out;
  out.network = network_kind::datagrams;
  out.loss = 30;
  out.duplicates = 60;
  out.late = 30;
  return out;
}

/// Compacted again and again: whoever was away is always behind the log.
profile short_log(profile out) {
  out.trailing = 2;
  out.think_ms = 30;
  return out;
}

/// As in the notes on the library, where these faults showed once in a thousand runs or less.
profile unruly() {
  auto out = rough();
  out.members = 5;
  out.trailing = 8;
  out.think_ms = 30;
  out.chaos_ms = 10'000;
  return out;
}

profile changing(profile out) {
  out.changes_members = true;
  return out;
}

/// Refusals come again when they are long out of date. No leader falls meanwhile, for a new one
/// would begin with a new view of everybody.
profile jittery() {
  profile out;
  out.network = network_kind::datagrams;
  out.loss = 80;
  out.late = 30;
  out.refusal_copies = 3;
  out.clients = 6;
  out.think_ms = 12;
  out.fault_every_ms = 0;
  out.rounds = 10;
  out.chaos_ms = 1'000;
  out.calm_ms = 15'000;
  return out;
}

/// A leader that knows less of a follower than it has, and a follower that forgets at once.
profile deaf() {
  profile out;
  out.trailing = 8;
  out.late = 0;
  out.loss = 0;
  out.clients = 6;
  out.think_ms = 20;
  out.fault_every_ms = 0;
  out.deafened_every_ms = 300;
  out.rounds = 10;
  out.chaos_ms = 500;
  out.calm_ms = 15'000;
  return out;
}

/// Offers of a state arrive when whoever made them leads again, two terms later.
profile swapping() {
  auto out = short_log({});
  out.late_offers = 700;
  out.swapped_every_ms = 700;
  out.chaos_ms = 10'000;
  return out;
}

profile behind() {
  profile out;
  out.chaos_ms = 500;
  out.hands_over_behind = true;
  return out;
}

profile hostile() {
  profile out;
  out.is_hostile = true;
  return out;
}

using switches = consensus::guard_switches;

} // namespace

TEST_CASE("without validation a forged message becomes an entry, or ends the process") {
  expect_found(hostile(), &switches::validates, {1, 20});
}

TEST_CASE("without splitting at changes the group cannot be changed any more") {
  expect_found(changing(rough()), &switches::splits_at_changes, {1, 40});
}

TEST_CASE("the library's own commit index goes back") {
  expect_found(rough(), &switches::keeps_commit, {1, 20});
}

TEST_CASE("unless it is told again, a restarted leader takes no change of the group") {
  expect_found(changing({}), &switches::tells_changes_again, {1, 60});
}

TEST_CASE("a group that changes again before its new voter knows of its vote stands still") {
  expect_found(changing(unruly()), &switches::awaits_promoted, {80, 100});
}

TEST_CASE("votes that leave before they are durable make two leaders in one term") {
  expect_found(rough(), &switches::holds_messages, {200, 300});
}

TEST_CASE("a leader that does not ask the others gives stale reads") {
  expect_found({}, &switches::reads_by_barrier, {1, 60});
}

TEST_CASE("a log that forgets what the state does not hold yet cannot be started from") {
  expect_found(short_log(rough()), &switches::compacts_behind_state, {1, 60});
}

TEST_CASE("writing on after a disk error loses what was acknowledged") {
  expect_found({}, &mistakes::retries_after_error, {1, 60});
}

TEST_CASE("an applied index that is saved before its rows leaves a state with holes") {
  expect_found({}, &mistakes::saves_index_alone, {1, 60});
}

TEST_CASE("a member that forgets its vote votes twice") {
  expect_found({}, &mistakes::forgets_vote, {1, 60});
}

TEST_CASE("a fetched state that is stored behind the end of its log leaves a gap") {
  auto how = short_log({});
  how.late = 30;
  expect_found(how, &mistakes::replaces_log_first, {1, 60});
}

TEST_CASE("what is acknowledged when one disk has it can be lost") {
  expect_found({}, &mistakes::answers_early, {1, 60});
}

// -- faults that showed once in thousands of runs until the weather was made for them ------------

TEST_CASE("without the order of arrival a repeated refusal wedges a follower") {
  expect_found(jittery(), &switches::orders, {1, 5});
}

TEST_CASE("a refused probe into the compacted past wedges a follower") {
  expect_found(deaf(), &switches::skips_compacted, {1, 5});
}

TEST_CASE("an answer to an older term claims what nobody has") {
  // Uninitialised, it is an address here: our table refuses what is beyond the leader's own log,
  // and would count what is not.
  expect_found(swapping(), &switches::repairs_results, {8, 40});
}

TEST_CASE("a leader whose spare was caught up spins on a deadline in the past") {
  expect_found(changing(rough()), &switches::paces_timeouts, {3, 20});
}

TEST_CASE("leadership that is handed to a member far behind goes nowhere") {
  expect_found(behind(), &switches::transfers_level, {1, 5});
}

// Two guards have no test here, for nothing that a coordinator does can reach them:
// `keeps_newer_state`: what this version of the library does with an older snapshot is nothing, as
// `test_consensus` shows ("a snapshot older than ours"); its answer would be believed, and is
// right. `changes_one`: every change comes from `changed`, which makes one ("whatever is asked
// for").

} // namespace assay::simulation
