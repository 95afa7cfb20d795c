// From the members that the ledger names to the group that runs, and how that looks to a person.

#include "src/app/allow_list.hpp"
#include "src/app/clocks.hpp"
#include "src/app/group_health.hpp"
#include "src/base/peer_limits.hpp"
#include "src/ledger/schema.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::app {

namespace {

using consensus::member_role;

ledger::member named(std::uint64_t id, bool votes = true) {
  auto n = std::to_string(id);
  return {
    .id = id,
    .name = "c" + n,
    .address = "10.0.0." + n + ":7104",
    .voter = votes,
    .curve_public = fabric::to_text(fabric::new_key_pair().shared),
    .disk = "disk " + n};
}

consensus::member runs(std::uint64_t id, member_role role = member_role::voter) {
  return {id, "10.0.0." + std::to_string(id) + ":7104", role};
}

group_now seen_by(std::uint64_t self, consensus::configuration members) {
  return {self, std::move(members), [](std::uint64_t) { return true; }, 0};
}

template <class Change>
bool is(const std::optional<consensus::membership_change>& what, std::uint64_t id) {
  if (!what || !std::holds_alternative<Change>(*what))
    return false;
  if constexpr (requires { std::get<Change>(*what).who; })
    return std::get<Change>(*what).who.id == id;
  else
    return std::get<Change>(*what).id == id;
}

store::engine_status engine(std::uint64_t self, std::uint64_t leader, consensus::configuration m) {
  store::engine_status out;
  out.server_id = self;
  out.leader_id = leader;
  out.members = std::move(m);
  return out;
}

ledger::head_row head(std::vector<ledger::member> members) {
  ledger::head_row out;
  out.members = std::move(members);
  out.last_member = 3;
  return out;
}

const consensus::configuration three{runs(1), runs(2), runs(3)};

} // namespace

TEST_CASE("who is named with a new key is known by the old one for a moment more, and no longer") {
  key_grace grace;
  const steady_time start{std::chrono::hours{1}};
  const peers::peer one{1, "10.0.0.1:7104", fabric::new_key_pair().shared, "disk 1"};
  const peers::peer two{2, "10.0.0.2:7104", fabric::new_key_pair().shared, "disk 2"};
  auto renamed = one;
  renamed.key = fabric::new_key_pair().shared;
  auto at = [&](auto since, std::vector<peers::peer> named) {
    grace.hold({one, two}, named, start + since);
    return named;
  };
  using list = std::vector<peers::peer>;
  CHECK(at(std::chrono::seconds{0}, {renamed, two}) == list{one, two});
  const auto last = limits::key_change_grace - std::chrono::milliseconds{1};
  CHECK(at(last, {renamed, two}) == list{one, two});
  CHECK(at(limits::key_change_grace, {renamed, two}) == list{renamed, two});
  // A revoked one is not named, and another disk is another member: neither is held.
  CHECK(at(last, {two}) == list{two});
  auto elsewhere = renamed;
  elsewhere.disk = "another";
  CHECK(at(last, {elsewhere, two}) == list{elsewhere, two});
  // Another key begins its own time.
  CHECK(at(std::chrono::seconds{5}, {renamed, two}) == list{one, two});
  renamed.key = fabric::new_key_pair().shared;
  CHECK(at(std::chrono::seconds{5} + limits::key_change_grace, {renamed, two}) == list{one, two});
}

TEST_CASE("a group that is as the ledger names it needs no change") {
  CHECK_FALSE(next_change({named(1), named(2), named(3)}, seen_by(1, three)));
  CHECK_FALSE(
    next_change({named(1), named(2, false)}, seen_by(1, {runs(1), runs(2, member_role::standby)}))
  );
}

TEST_CASE("a newcomer comes in as a spare and then gets its vote") {
  CHECK(is<consensus::add_spare>(next_change({named(1), named(2)}, seen_by(1, {runs(1)})), 2));
  auto in = seen_by(1, {runs(1), runs(2, member_role::spare)});
  CHECK(is<consensus::promote>(next_change({named(1), named(2)}, in), 2));
}

TEST_CASE("a separate ingress gets the log and never a vote") {
  CHECK(
    is<consensus::add_standby>(next_change({named(1), named(2, false)}, seen_by(1, {runs(1)})), 2)
  );
}

TEST_CASE("who is gone leaves before anybody comes") {
  CHECK(is<consensus::remove_member>(
    next_change({named(1), named(4)}, seen_by(1, {runs(1), runs(3)})), 3
  ));
}

TEST_CASE("who is gone leaves even before the change before is settled, and nobody comes") {
  auto now = seen_by(1, three);
  now.is_settled = false;
  CHECK(is<consensus::remove_member>(next_change({named(1), named(2)}, now), 3));
  CHECK_FALSE(next_change({named(1), named(2), named(3), named(4)}, now));
}

TEST_CASE("the leader does not remove itself") {
  CHECK_FALSE(next_change({named(2)}, seen_by(1, {runs(1), runs(2)})));
}

TEST_CASE("a vote waits for who cannot be reached, and does not keep others from theirs") {
  consensus::configuration m{runs(1), runs(2, member_role::spare), runs(3, member_role::spare)};
  auto all = std::vector{named(1), named(2), named(3)};
  auto now = seen_by(1, m);
  now.is_reached = [](std::uint64_t id) { return id == 3; };
  CHECK(is<consensus::promote>(next_change(all, now), 3));
  now.is_reached = [](std::uint64_t) { return false; };
  CHECK_FALSE(next_change(all, now));
  now.is_reached = [](std::uint64_t) { return true; };
  now.last_promoted = 2; // It was tried and came to nothing.
  CHECK(is<consensus::promote>(next_change(all, now), 3));
  now.last_promoted = 3;
  CHECK(is<consensus::promote>(next_change(all, now), 2));
}

TEST_CASE("a group that decides has no problem, even with one member away") {
  auto h = health_of(
    head({named(1), named(2), named(3)}), engine(1, 1, three), {{2, {.is_up = true}}, {3, {}}}
  );
  CHECK(h.problem.empty());
  CHECK(h.leader == "c1");
  CHECK((h.voters == 3 && h.reached == 2 && h.needed == 2));
  CHECK(h.members[0].state == "here");
  CHECK(h.members[0].role == "leader");
  CHECK(h.members[1].state == "up");
  CHECK(h.members[2].state == "away");
}

TEST_CASE("a lost quorum says who is missing, how many are needed and what to do") {
  auto h = health_of(head({named(1), named(2), named(3)}), engine(1, 0, three), {});
  CHECK(h.problem.find("the quorum is lost: 1 of 3") != std::string::npos);
  CHECK(h.problem.find("2 are needed") != std::string::npos);
  CHECK(h.problem.find("(c2, c3)") != std::string::npos);
  CHECK(h.problem.find("assayd") != std::string::npos);
}

TEST_CASE("a leader that waits for whoever got its vote last says so, once that one is away") {
  auto all = head({named(1), named(2), named(3)});
  auto now = engine(1, 1, three);
  CHECK(health_of(all, now, {{2, {.is_up = true}}, {3, {}}}).waits.empty());
  now.awaited_member = 3;
  CHECK(health_of(all, now, {{2, {}}, {3, {.is_up = true}}}).waits.empty());
  auto waits = health_of(all, now, {{2, {.is_up = true}}, {3, {}}}).waits;
  CHECK(waits.find("c3 got its vote last and is away") != std::string::npos);
  CHECK(waits.find("assay cluster remove c3") != std::string::npos);
}

TEST_CASE("an election is told apart from a lost quorum") {
  auto h =
    health_of(head({named(1), named(2), named(3)}), engine(1, 0, three), {{2, {.is_up = true}}});
  CHECK(h.problem.find("election") != std::string::npos);
  CHECK(h.problem.find("lost") == std::string::npos);
}

TEST_CASE("who was removed is told so, and who only has not heard yet is not") {
  auto gone = health_of(head({named(1), named(2)}), engine(3, 0, three), {});
  CHECK(gone.problem.find("removed") != std::string::npos);
  auto early = health_of(head({named(1), named(2)}), engine(4, 0, {}), {});
  CHECK(early.problem.find("removed") == std::string::npos);
}

TEST_CASE("who was removed while it was away learns it by the closed doors of all others") {
  auto all = head({named(1), named(2), named(3)});
  member_seen closed{.is_closed_to_us = true};
  auto shut = health_of(all, engine(1, 0, three), {{2, closed}, {3, closed}});
  CHECK(shut.problem.find("removed") != std::string::npos);
  auto half = health_of(all, engine(1, 0, three), {{2, closed}, {3, {}}});
  CHECK(half.problem.find("removed") == std::string::npos);
}

TEST_CASE("who lost its disk and knows nobody any more is told why nobody lets it in") {
  member_seen closed{.is_closed_to_us = true, .why = "coordinator 3 has another disk"};
  for (std::uint64_t leader : {0, 1}) { // It may hear the one that does not hear it.
    auto shut = health_of(ledger::head_row{}, engine(3, leader, {}), {{1, closed}});
    CHECK(shut.problem.find("coordinator 3 has another disk") != std::string::npos);
  }
  auto half = health_of(ledger::head_row{}, engine(3, 0, {}), {{1, closed}, {2, {}}});
  CHECK(half.problem.find("another disk") == std::string::npos);
}

TEST_CASE("a member whose hello is refused is no reached one, whatever its own door lets in") {
  auto all = head({named(1), named(2), named(3)});
  member_seen wiped{.is_up = true, .refused = "coordinator 3 has another disk"};
  auto h = health_of(all, engine(1, 1, three), {{2, {.is_up = true}}, {3, wiped}});
  CHECK(h.reached == 2);
  CHECK(h.members[1].state == "up");
  CHECK(h.members[1].why.empty());
  CHECK(h.members[2].state == "refused");
  CHECK(h.members[2].why.find("coordinator 3 has another disk") != std::string::npos);
  CHECK(h.members[2].why.find("assay cluster remove c3") != std::string::npos);
  auto alone = health_of(all, engine(1, 0, three), {{2, {}}, {3, wiped}});
  CHECK(alone.problem.find("away (c2, c3)") != std::string::npos);
}

TEST_CASE("what a member says of its disk is shown while it is up") {
  auto state = [](member_seen one) {
    auto h = health_of(head({named(1), named(2)}), engine(1, 1, three), {{2, std::move(one)}});
    return h.members[1].state + (h.members[1].why.empty() ? "" : "+");
  };
  CHECK(state({.is_up = true}) == "up");
  CHECK(state({.is_up = true, .disk = {.is_full = true}}) == "full+");
  CHECK(state({.is_up = true, .disk = {.is_full = true, .is_damaged = true}}) == "damaged+");
  CHECK(state({.disk = {.is_full = true, .is_damaged = true}}) == "away");
}

TEST_CASE("too few voters with room on their disks are told by the names of those that are full") {
  const auto all = head({named(1), named(2), named(3)});
  const member_seen roomy{.is_up = true}, full{.is_up = true, .disk = {.is_full = true}}, away{};
  auto fault = [&](member_seen two, member_seen other, bool is_self_full = false) {
    auto now = engine(1, 1, three);
    now.is_disk_full = is_self_full;
    return room_fault_of(all, now, {{2, std::move(two)}, {3, std::move(other)}});
  };
  CHECK(fault(roomy, roomy).empty());
  CHECK(fault(roomy, full).empty());
  CHECK(fault(roomy, roomy, true).empty()); // Its engine says so itself.
  CHECK(fault(full, full).ends_with("their reserve: c2, c3"));
  CHECK(fault(full, full).starts_with("1 of 3 voting coordinators"));
  CHECK(fault(roomy, full, true).ends_with("their reserve: c1, c3"));
  CHECK(fault(full, away).ends_with("their reserve: c2")); // Its reserve would be all there is.
  CHECK(fault(away, away).empty());                        // The quorum's matter.
  CHECK(fault(away, {.is_up = true, .refused = "a copy", .disk = {.is_full = true}}).empty());
}

TEST_CASE("a leader without room hands over to a voter with room, when a majority has some") {
  const member_seen roomy{.is_up = true}, full{.is_up = true, .disk = {.is_full = true}};
  auto now = engine(1, 1, three);
  now.is_leader = true;
  CHECK(roomy_voter(now, {{2, roomy}, {3, roomy}}) == 0);
  now.is_disk_full = true;
  CHECK(roomy_voter(now, {{2, roomy}, {3, roomy}}) == 2);
  CHECK(roomy_voter(now, {{2, full}, {3, roomy}}) == 0); // One cannot commit anything alone.
  now.is_leader = false;
  CHECK(roomy_voter(now, {{2, roomy}, {3, roomy}}) == 0);
}

TEST_CASE("a refused hello is a copy's, and says nothing of a member that was heard a moment ago") {
  const steady_time now{std::chrono::hours{1}};
  const problem refusal{problem_kind::forbidden, "another disk", "10.0.0.3:7104", {}};
  auto refused = [&](auto heard, const problem& why) {
    member_seen one{.clock_told = heard};
    note_refusal(one, why, now);
    return one.refused;
  };
  CHECK(refused(steady_time{}, refusal) == "another disk");
  CHECK(refused(now - limits::clock_told_ages, refusal) == "another disk");
  CHECK(refused(now - limits::clock_told_ages + std::chrono::milliseconds{1}, refusal).empty());
  CHECK(refused(steady_time{}, {problem_kind::invalid, "no such lane", {}, {}}).empty());
}

TEST_CASE("what a member said of its disk is forgotten when the way to it goes") {
  member_seen one{.is_up = true, .disk = {true, true}};
  note_reach(one, false, {problem_kind::unavailable, "nobody answers", {}, {}});
  CHECK_FALSE(one.is_up);
  CHECK_FALSE(one.disk.is_full);
  CHECK_FALSE(one.disk.is_damaged);
}

TEST_CASE("who does not let us in stays refused while the way to it is down, and whoever else is "
          "down does not") {
  member_seen one{.refused = "another disk"};
  note_reach(one, false, {problem_kind::forbidden, "it does not allow our key", {}, {}});
  CHECK(one.is_closed_to_us);
  CHECK(one.refused == "another disk");
  note_reach(one, false, {problem_kind::unavailable, "nobody answers", {}, {}});
  CHECK_FALSE(one.is_closed_to_us);
  CHECK(one.refused.empty());
}

TEST_CASE("peers are the other members whose key is not revoked") {
  ledger::tables t;
  t.head = head({named(1), named(2), named(3)});
  ledger::identity_row revoked;
  revoked.identity.name = "c3";
  revoked.revoked = true;
  t.load(revoked);
  auto peers = peers_of(t, 1);
  REQUIRE(peers.size() == 1);
  CHECK(peers[0].node == 2);
  CHECK(peers[0].address == "10.0.0.2:7104");
  CHECK(peers[0].disk == "disk 2");
}

TEST_CASE("separate ingresses speak to coordinators and not to each other") {
  ledger::tables t;
  t.head = head({named(1), named(2, false), named(3, false)});
  CHECK(peers_of(t, 2).size() == 1);
  CHECK(peers_of(t, 1).size() == 2);
}

TEST_CASE("a clock is off when it is more than the spread from the median of three") {
  CHECK(own_clock_error({{2, 5'000}, {3, 5'001}}) == 0);
  CHECK(own_clock_error({{2, 5'001}, {3, 6'000}}) == -5'001);
  CHECK(own_clock_error({{2, -3'600'000}, {3, -3'600'010}}) == 3'600'000);
}

TEST_CASE("one clock that is off makes none of the others off") {
  CHECK(own_clock_error({{2, 3'600'000}, {3, 20}}) == 0);
  CHECK(own_clock_error({{2, 3'600'000}, {3, -3'600'000}}) == 0);
}

TEST_CASE("of two clocks nobody can say which is wrong, and of four the nearer middle counts") {
  CHECK(own_clock_error({{2, 3'600'000}}) == 0);
  CHECK(own_clock_error({}) == 0);
  CHECK(own_clock_error({{2, 10}, {3, 9'000}, {4, 9'000}}) == 0);
  CHECK(own_clock_error({{2, 6'000}, {3, 9'000}, {4, 9'000}}) == -6'000);
}

TEST_CASE("who takes over has the clock nearest to the median") {
  CHECK(best_clock({{2, 3'600'000}, {3, 3'601'000}, {4, 3'602'000}}) == 2);
  CHECK(best_clock({}) == 0);
}

TEST_CASE("the group agrees on a schema version when each member said that it knows it") {
  ledger::tables t;
  t.head = head({named(1), named(2), named(3)});
  peers::identity self{{}, 1, "disk 1", 3};
  std::map<std::uint64_t, member_seen> seen{
    {2, {.is_up = true, .schema_version = 2}}, {3, {.schema_version = 4}}};
  CHECK(ledger::due_version(t, known_versions(seen, self)) == ledger::cluster_version{2});
  seen[2].schema_version = 5;
  CHECK(ledger::due_version(t, known_versions(seen, self)) == ledger::cluster_version{3});
  SECTION("one that said nothing yet holds it up") {
    seen[3].schema_version = 0;
    CHECK_FALSE(ledger::due_version(t, known_versions(seen, self)));
  }
  SECTION("one that was never heard holds it up") {
    seen.erase(3);
    CHECK_FALSE(ledger::due_version(t, known_versions(seen, self)));
  }
  SECTION("a separate ingress counts: it applies what the others do") {
    t.head.members.push_back(named(4, false));
    CHECK_FALSE(ledger::due_version(t, known_versions(seen, self)));
  }
}

} // namespace assay::app
