#include "tests/unit/consensus/group.hpp"

namespace assay::consensus {

using namespace test;

namespace {

submitted command(std::string bytes) {
  return {{{0, entry_kind::command, std::move(bytes)}}};
}

/// Delivers everything in order until nobody says anything more; `cut` hears and says nothing.
void settle(std::vector<std::unique_ptr<server>>& group, std::uint64_t now, std::uint64_t cut = 0) {
  bool is_quiet = false;
  while (!is_quiet) {
    is_quiet = true;
    for (auto& sender : group)
      for (auto& m : std::exchange(sender->outbox, {})) {
        if (m.from == cut || m.to == cut)
          continue;
        is_quiet = false;
        (void)group[m.to - 1]->step(received{m}, now);
      }
  }
}

/// Lets time pass until somebody but `cut` leads.
server*
elect(std::vector<std::unique_ptr<server>>& group, std::uint64_t& now, std::uint64_t cut = 0) {
  for (const auto limit = now + 20'000; now < limit; now += 5)
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (i + 1 == cut)
        continue;
      if (now >= group[i]->core().timeout_ms())
        (void)group[i]->step(timed_out{}, now);
      settle(group, now, cut);
      if (group[i]->core().is_leader())
        return group[i].get();
    }
  return nullptr;
}

} // namespace

TEST_CASE("a group of one leads as soon as it has started, and commits what it is given") {
  auto on = bootstrapped(voters(1));
  server alone{1, on, 1};
  alone.start(0);
  REQUIRE(alone.core().is_leader());
  CHECK_FALSE(alone.step(command("a"), 1));
  CHECK_FALSE(alone.step(command("b"), 2));
  CHECK(alone.committed == std::vector<std::string>{"a", "b"});
  CHECK(on.log.back().term == alone.core().term());
}

TEST_CASE("one batch is one report of what is durable") {
  auto on = bootstrapped(voters(1));
  server alone{1, on, 1};
  alone.start(0);
  auto before = alone.persisted_reports;
  submitted batch;
  for (int i = 0; i < 100; ++i)
    batch.entries.push_back({0, entry_kind::command, std::to_string(i)});
  CHECK_FALSE(alone.step(batch, 1));
  CHECK(alone.persisted_reports == before + 1);
  CHECK(alone.committed.size() == 100);
}

TEST_CASE("after a restart everything is committed again, and the term on disk is the one in use") {
  auto on = bootstrapped(voters(1));
  {
    server alone{1, on, 1};
    alone.start(0);
    CHECK_FALSE(alone.step(command("a"), 1));
  }
  server again{1, on, 2};
  again.start(0);
  CHECK(again.committed == std::vector<std::string>{"a"});
  CHECK(on.hard.term == again.core().term()); // A group of one re-elects itself in its term.
  CHECK_FALSE(again.step(command("b"), 1));
  CHECK(again.committed == std::vector<std::string>{"a", "b"});
}

TEST_CASE("after a restart membership can still be changed") {
  // It could not if the library were not told again that the configuration is committed.
  auto on = bootstrapped(voters(1));
  { server{1, on, 1}.start(0); }
  server alone{1, on, 2};
  alone.start(0);
  auto wider = voters(1);
  wider.push_back({2, "2", member_role::spare});
  CHECK_FALSE(alone.step(submitted{{{0, entry_kind::change, encode(wider)}}}, 1));
  CHECK(alone.core().members() == wider);
  wider.push_back({3, "3", member_role::spare});
  CHECK_FALSE(alone.step(submitted{{{0, entry_kind::change, encode(wider)}}}, 2));
}

TEST_CASE("a change that is not alone is refused, and leaves nothing behind") {
  auto on = bootstrapped(voters(1));
  server alone{1, on, 1};
  alone.start(0);
  auto last = alone.core().last_index();
  submitted mixed{{{0, entry_kind::command, "a"}, {0, entry_kind::change, encode(voters(1))}}};
  CHECK(alone.step(mixed, 1) == refusal::change_not_alone);
  CHECK(alone.core().last_index() == last);
  CHECK(alone.step(submitted{{{0, entry_kind::change, "x"}}}, 1) == refusal::malformed);
  CHECK(alone.step(submitted{}, 1) == refusal::invalid);
}

TEST_CASE("timeouts come at most every ten milliseconds, wherever the library's deadline lies") {
  auto on = bootstrapped(voters(1));
  server alone{1, on, 1};
  alone.start(1'000);
  CHECK_FALSE(alone.step(timed_out{}, 5'000));
  CHECK(alone.core().timeout_ms() >= 5'000 + timeout_pace_ms);
}

TEST_CASE("a snapshot is taken once, only of what the log holds, and a restart begins behind it") {
  auto on = bootstrapped(voters(1));
  {
    server alone{1, on, 1};
    alone.start(0);
    for (int i = 0; i < 50; ++i)
      CHECK_FALSE(alone.step(command(std::to_string(i)), 1));
    snapshot_mark mark{40, on.log[39].term, 1, voters(1)};
    CHECK(alone.step(snapshot_taken{{999, 1, 1, voters(1)}, 5}, 2) == refusal::invalid);
    CHECK_FALSE(alone.step(snapshot_taken{mark, 5}, 2));
    CHECK(alone.step(snapshot_taken{mark, 5}, 2) == refusal::invalid);
    CHECK_FALSE(alone.step(command("after"), 3));
    on.snapshot = mark;
    on.log.erase(on.log.begin(), on.log.begin() + 35);
    on.first = 36;
  }
  server again{1, on, 2};
  again.start(0);
  CHECK(again.core().is_leader());
  CHECK(again.core().members() == voters(1));
  CHECK(again.committed.back() == "after");
}

TEST_CASE("three members elect a leader, commit, and go on without it") {
  std::vector<disk> disks(3, bootstrapped(voters(3)));
  std::vector<std::unique_ptr<server>> group;
  for (std::uint64_t id = 1; id <= 3; ++id) {
    group.push_back(std::make_unique<server>(id, disks[id - 1], 1));
    group.back()->start(0);
  }
  std::uint64_t now = 0;
  auto* first = elect(group, now);
  REQUIRE(first != nullptr);
  CHECK_FALSE(first->step(command("a"), now));
  settle(group, now);
  CHECK(first->committed == std::vector<std::string>{"a"});

  auto cut = static_cast<std::uint64_t>(
    std::find_if(group.begin(), group.end(), [&](auto& s) { return s.get() == first; })
    - group.begin() + 1
  );
  auto* second = elect(group, now, cut);
  REQUIRE(second != nullptr);
  CHECK_FALSE(second->step(command("b"), now));
  settle(group, now, cut);
  CHECK(second->committed == std::vector<std::string>{"a", "b"});
  CHECK(second->core().term() > first->core().term());
}

TEST_CASE("a message that a guard refuses never reaches the library") {
  std::vector<disk> disks(3, bootstrapped(voters(3)));
  server one{1, disks[0], 1};
  one.start(0);
  request_vote forged;
  forged.term = 9;
  forged.candidate = 3;
  CHECK_FALSE(one.step(received{{2, 1, 1, 1, forged}}, 1));
  CHECK_FALSE(one.core().dropped().empty());
  CHECK(one.core().term() == 1);
}

namespace {

/// A member that has forgotten everything up to 35, and what its leader might offer it once more.
struct forgetful {
  explicit forgetful(guard_switches guards) : one{1, on, 1, guards} {
    on.snapshot = snapshot_mark{40, 1, 1, voters(3)};
    on.first = 36;
    on.log.assign(15, {1, entry_kind::command, "x"});
    one.start(0);
  }
  message offer(std::uint64_t index) const {
    return {2, 1, 1, 1, install_snapshot{1, 1, {index, 1, 1, voters(3)}}};
  }
  disk on = bootstrapped(voters(3));
  server one;
};

} // namespace

TEST_CASE("a snapshot older than ours changes nothing, whether we or the library see it") {
  for (bool is_guarded : {true, false}) {
    guard_switches how;
    how.keeps_newer_state = is_guarded;
    forgetful of{how};
    CHECK_FALSE(of.one.step(received{of.offer(30)}, 1));
    CHECK(of.one.core().last_index() == 50);
    CHECK(of.one.core().dropped().empty() == !is_guarded);
    CHECK(of.one.outbox.empty() == is_guarded);
  }
}

TEST_CASE("a member without a vote forgets a leader that it hears of no more, as the others do") {
  auto members = voters(3);
  members.push_back({4, "4", member_role::standby});
  std::vector<disk> disks(4, bootstrapped(members));
  std::vector<std::unique_ptr<server>> group;
  std::uint64_t now = 0;
  for (std::uint64_t id = 1; id <= 4; ++id) {
    group.push_back(std::make_unique<server>(id, disks[id - 1], 1));
    group.back()->start(now);
  }
  REQUIRE(elect(group, now) != nullptr);
  auto& standby = *group[3];
  const auto named = standby.core().leader();
  REQUIRE(named != 0);
  const auto forgets_at = now + 2 * settings{}.election_timeout_ms;
  for (; now < forgets_at; now = std::min(standby.core().timeout_ms(), forgets_at)) {
    CHECK(standby.core().leader() == named);
    (void)standby.step(timed_out{}, now);
  }
  (void)standby.step(timed_out{}, now);
  CHECK(standby.core().leader() == 0);
}

TEST_CASE("the library would take a group whose majority shares nobody with the one before") {
  const configuration swapped{{1, "1", member_role::voter}, {4, "4", member_role::voter}};
  for (bool is_guarded : {true, false}) {
    guard_switches how;
    how.changes_one = is_guarded;
    auto on = bootstrapped(voters(1));
    server alone{1, on, 1, how};
    alone.start(0);
    auto wider = voters(1);
    wider.push_back({2, "2", member_role::spare});
    CHECK_FALSE(alone.step(submitted{{{0, entry_kind::change, encode(wider)}}}, 1));
    auto refused = alone.step(submitted{{{0, entry_kind::change, encode(swapped)}}}, 2);
    CHECK(refused == (is_guarded ? std::optional{refusal::malformed} : std::nullopt));
  }
}

} // namespace assay::consensus
