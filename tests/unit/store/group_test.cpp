// Three engines with real directories and the ledger that really applies, as one group in one
// process. Leaders may change at any moment on a busy machine, so each question goes to whoever
// leads until it is answered.

#include "src/store/ledger_machine.hpp"
#include "src/wire/record_codec.hpp"
#include "tests/unit/store/group.hpp"

namespace assay::store {

using namespace test;

TEST_CASE("what a leader acknowledged, every member applies with the same chain and tables") {
  group all;
  all.grow_to(3);
  const auto last = all.put(all.identity("h1"));
  for (std::uint64_t id = 1; id <= 3; ++id) {
    const auto tables = all.tables_at(id, last.seq);
    CHECK(tables->head.chain == last.chain);
    CHECK(tables->identities->contains("h1"));
    CHECK(tables->head.seq == last.seq);
  }
  const auto one = all.engine(1).status();
  CHECK(one.members.size() == 3);
  CHECK(one.role == consensus::member_role::voter);
}

TEST_CASE("a follower refuses what the leader takes, and names the leader") {
  group all;
  all.grow_to(2);
  for (;;) {
    const auto leads = all.leader();
    const std::uint64_t other = 3 - leads;
    const auto refused = ask(all.engine(other), wire::encode_proposal(all.identity("h"))).get();
    const auto view = barrier(all.engine(other));
    if (all.leader() != leads || refused || view)
      continue; // Leadership moved in between.
    CHECK(refused.error().kind == problem_kind::unavailable);
    const auto name = "coordinator " + std::to_string(leads) + " at " + std::to_string(leads);
    CHECK(refused.error().what.find(name) != std::string::npos);
    CHECK(view.error().what.find(name) != std::string::npos);
    all.wait_until([&] { // The status follows the answer, unless leadership moves on.
      return all.engine(other).status().leader_id == leads || all.leader_now() != leads;
    });
    return;
  }
}

TEST_CASE("without its leader a group goes on, with everything acknowledged there exactly once") {
  group all;
  all.grow_to(3);
  std::map<std::string, receipt> acknowledged;
  auto put = [&](const std::string& host) {
    acknowledged.emplace(host, all.put(all.identity(host)));
  };
  for (int i = 0; i < 5; ++i)
    put("before-" + std::to_string(i));
  const auto gone = all.leader();
  const auto term = all.engine(gone).status().term;
  all.stop(gone);
  for (int i = 0; i < 5; ++i)
    put("without-" + std::to_string(i));
  const auto next = all.leader();
  CHECK(next != gone);
  CHECK(all.engine(next).status().term > term);

  all.start(gone);
  put("again");
  std::set<std::uint64_t> seqs;
  for (std::uint64_t id = 1; id <= 3; ++id) {
    const auto tables = all.tables_at(id, acknowledged.at("again").seq);
    for (const auto& [host, receipt] : acknowledged)
      CHECK(ledger::find(tables->identities, host)->seq == receipt.seq);
  }
  for (const auto& [host, receipt] : acknowledged)
    CHECK(seqs.insert(receipt.seq).second);
  const auto seq = acknowledged.at("again").seq;
  CHECK(*all.tables_at(1, seq) == *all.tables_at(2, seq));
  CHECK(*all.tables_at(2, seq) == *all.tables_at(3, seq));
}

TEST_CASE("a leader cut off from the others takes back nothing: its askers do not know") {
  group all;
  all.grow_to(3);
  const auto alone = all.leader();
  all.cut(alone);
  const auto lost = ask(all.engine(alone), wire::encode_proposal(all.identity("lost"))).get();
  REQUIRE_FALSE(lost);
  CHECK(lost.error().kind == problem_kind::unavailable);
  const auto kept = all.put(all.identity("kept"));
  all.heal(alone);
  const auto tables = all.tables_at(alone, kept.seq);
  CHECK(tables->head.chain == kept.chain);
  CHECK_FALSE(tables->identities->contains("lost"));
}

TEST_CASE("a standby holds what the voters hold, and is no part of their majority") {
  group all;
  all.grow_to(2);
  all.join_as_standby(3);
  const auto last = all.put(all.identity("h1"));
  CHECK(all.tables_at(3, last.seq)->head.chain == last.chain);
  CHECK(all.engine(3).status().role == consensus::member_role::standby);

  const auto leads = all.leader();
  all.cut(3 - leads); // Two of three are left, and one of the two that vote.
  all.wait_until([&] { return !all.engine(leads).status().is_leader; });
  CHECK_FALSE(all.engine(3).status().is_leader);
}

TEST_CASE("leadership goes where a person sends it, and a member can be removed") {
  group all;
  all.grow_to(3);
  std::uint64_t to = 0;
  do {
    to = all.leader() % 3 + 1;
    if (decide(all.engine(all.leader()), to))
      all.wait_until([&] { return all.engine(to).status().is_leader; });
  } while (all.leader() != to);
  all.change_until(
    [](std::uint64_t leads) { return consensus::remove_member{leads % 3 + 1}; },
    [](const engine_status& now) { return now.members.size() == 2; }
  );
  CHECK(all.put(all.identity("two-left")).seq > 0);
}

} // namespace assay::store
