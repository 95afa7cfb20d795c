// The promises that are easier to say alone than in a cluster: order of writing and handing over,
// a full disk, a broken one, and what is already there.

#include "src/consensus/configuration.hpp"
#include "src/consensus/participant.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::consensus {

namespace {

const configuration alone{{1, "1"}};

class nothing_stored : public stored_log {
public:
  std::optional<entry> at(std::uint64_t) const override { return {}; }
};

/// A group of one behind its founding entry, with its first entry of the new term on disk.
struct sole_voter {
  explicit sole_voter(std::uint64_t trailing = 1'024) {
    participant_settings how;
    how.core.address = "1";
    how.trailing = trailing;
    it = participant::make(how, log).value();
    log_contents disk{{1, 0}, {}, 1, {{1, entry_kind::change, encode(alone)}}};
    REQUIRE_FALSE(it->start(disk, 0, 0));
    settle();
  }

  std::uint64_t propose(std::string bytes) {
    return it->propose({{0, entry_kind::command, std::move(bytes)}}, 1).value();
  }

  /// Writes whatever is to be written; what was handed over meanwhile.
  std::vector<committed_entry> settle() {
    std::vector<committed_entry> out;
    for (auto next = it->take();; next = it->take()) {
      out.insert(out.end(), next.committed.begin(), next.committed.end());
      if (!next.write)
        return out;
      it->wrote(2);
    }
  }

  nothing_stored log;
  std::unique_ptr<participant> it;
};

} // namespace

TEST_CASE("nothing is handed over before its write is done, and then with its ticket") {
  sole_voter one;
  const auto ticket = one.propose("a");
  auto first = one.it->take();
  REQUIRE(first.write);
  CHECK(first.committed.empty());
  CHECK(one.it->take().committed.empty());
  one.it->wrote(2);
  const auto after = one.it->take().committed;
  REQUIRE(after.size() == 1);
  CHECK(after[0].ticket == ticket);
  CHECK(after[0].what->bytes == "a");
}

TEST_CASE("one write at a time: what comes meanwhile is the next one") {
  sole_voter one;
  one.propose("a");
  REQUIRE(one.it->take().write);
  one.propose("b");
  one.propose("c");
  CHECK_FALSE(one.it->take().write);
  one.it->wrote(2);
  CHECK(one.it->take().write->appends.size() == 2);
}

TEST_CASE("a full disk refuses, and the same write comes again when asked for") {
  sole_voter one;
  one.propose("a");
  const auto first = one.it->take().write;
  one.it->disk_full();
  CHECK_FALSE(one.it->take().write);
  CHECK(one.it->propose({{0, entry_kind::command, "b"}}, 2).error() == refusal::disk_full);
  one.it->retry_write();
  const auto again = one.it->take().write;
  REQUIRE(again);
  CHECK(again->appends[0].index == first->appends[0].index);
  one.it->wrote(3);
  CHECK(one.settle().size() == 1);
  CHECK(one.it->propose({{0, entry_kind::command, "b"}}, 4));
}

TEST_CASE("after a failed write nothing is handed over, sent or taken, and it says why") {
  sole_voter one;
  const auto ticket = one.propose("a");
  REQUIRE(one.it->take().write);
  one.it->broke("input/output error");
  const auto after = one.it->take();
  CHECK(after.lost == std::vector{ticket});
  CHECK(after.committed.empty());
  CHECK_FALSE(after.write);
  CHECK(one.it->ended() == "input/output error");
  CHECK(one.it->propose({{0, entry_kind::command, "b"}}, 2).error() == refusal::stopped);
}

TEST_CASE("the log forgets nothing that the state on disk does not hold") {
  sole_voter one{4};
  for (int i = 0; i < 20; ++i) {
    one.propose(std::to_string(i));
    one.settle();
  }
  CHECK(one.it->first_index() == 1);
  one.it->state_is_durable(10);
  const auto forget = one.it->take().write;
  REQUIRE(forget);
  CHECK(forget->forget->mark.index == 10);
  CHECK(forget->forget->first_kept == 7);
  one.it->wrote(3);
  CHECK(one.it->first_index() == 7);
}

TEST_CASE("who is mended stores on and hands nothing over, and then goes on behind the new state") {
  participant_settings how;
  how.core.id = 2;
  how.core.address = "2";
  how.tail_bytes = 1; // What the disk has is not kept in memory either.
  nothing_stored log;
  auto it = participant::make(how, log).value();
  const configuration two{{1, "1"}, {2, "2"}};
  REQUIRE_FALSE(it->start({{1, 0}, {}, 1, {{1, entry_kind::change, encode(two)}}}, 1, 0));
  CHECK(it->begin_mending() == refusal::not_leader); // Nobody leads yet.
  std::uint64_t last = 1, said = 0;
  auto hear = [&](int count) {
    append_entries more;
    more.term = 2;
    more.previous_index = last;
    more.previous_term = last == 1 ? 1 : 2;
    more.commit = last + static_cast<std::uint64_t>(count);
    for (int i = 0; i < count; ++i)
      more.entries.push_back({2, entry_kind::command, "x"});
    more.count = static_cast<std::uint32_t>(count);
    last = more.commit;
    REQUIRE_FALSE(it->receive({1, 2, 1, ++said, std::move(more)}, 10));
    std::vector<std::uint64_t> handed;
    for (bool is_more = true; is_more;) {
      auto next = it->take();
      for (const auto& one : next.committed)
        handed.push_back(one.index);
      is_more = next.write != nullptr;
      if (is_more)
        it->wrote(10);
    }
    return handed;
  };
  using indexes = std::vector<std::uint64_t>;
  CHECK(hear(2) == indexes{2, 3});
  REQUIRE_FALSE(it->begin_mending());
  CHECK(it->begin_mending() == refusal::change_pending);
  CHECK(hear(3).empty());
  CHECK(it->durable_index() == 6);
  it->mended(5); // One that is newer than what was handed over.
  CHECK(hear(1) == indexes{6, 7});
  REQUIRE_FALSE(it->begin_mending());
  CHECK(hear(1).empty());
  it->mended(0); // It came to nothing.
  CHECK(hear(1) == indexes{8, 9});
}

TEST_CASE("what another leader overwrites while it is written does not count as stored") {
  participant_settings how;
  how.core.id = 3;
  how.core.address = "3";
  nothing_stored log;
  auto it = participant::make(how, log).value();
  const configuration three{{1, "1"}, {2, "2"}, {3, "3"}};
  REQUIRE_FALSE(it->start({{1, 0}, {}, 1, {{1, entry_kind::change, encode(three)}}}, 1, 0));
  auto hear = [&](std::uint64_t leader, std::uint64_t term, std::vector<std::string> entries) {
    append_entries more;
    more.term = term;
    more.previous_index = more.previous_term = more.commit = 1;
    for (auto& bytes : entries)
      more.entries.push_back({term, entry_kind::command, std::move(bytes)});
    more.count = static_cast<std::uint32_t>(more.entries.size());
    REQUIRE_FALSE(it->receive({leader, 3, 1, 1, std::move(more)}, 10));
  };
  // The highest index that it tells this leader to have.
  auto told = [](const outputs& what, std::uint64_t leader) {
    std::uint64_t most = 0;
    for (const auto& m : what.messages)
      if (const auto* said = std::get_if<append_entries_result>(&m.body); said && m.to == leader)
        most = std::max(most, said->last_index);
    return most;
  };
  hear(1, 2, {"a", "b"});
  auto first = it->take();
  REQUIRE(first.write);
  REQUIRE(first.write->appends.size() == 1);
  hear(2, 3, {"c"}); // While those are on their way to the disk.
  CHECK(told(it->take(), 2) <= 1);
  it->wrote(11);
  CHECK(it->durable_index() == 1);
  auto second = it->take();
  CHECK(told(second, 2) <= 1);
  REQUIRE(second.write);
  CHECK(second.write->appends.back().entries.back().bytes == "c");
  it->wrote(12);
  CHECK(it->durable_index() == 2);
  CHECK(told(it->take(), 2) == 2);
}

TEST_CASE("a log that has forgotten more than the state holds is not started from") {
  participant_settings how;
  how.core.address = "1";
  nothing_stored log;
  auto it = participant::make(how, log).value();
  log_contents disk{{3, 1}, snapshot_mark{40, 2, 1, alone}, 41, {}};
  CHECK(it->start(disk, 39, 0) == refusal::invalid);
}

TEST_CASE("a sole voter leads at once in a term of its own, which its first write makes durable") {
  participant_settings how;
  how.core.id = 4;
  how.core.address = "4";
  nothing_stored log;
  auto it = participant::make(how, log).value();
  const configuration one_votes{{3, "3", member_role::spare}, {4, "4"}};
  REQUIRE_FALSE(it->start({{7, 3}, {}, 1, {{1, entry_kind::change, encode(one_votes)}}}, 0, 0));
  CHECK(it->is_leader());
  CHECK(it->term() == 8);
  const auto first = it->take().write;
  REQUIRE(first);
  CHECK(first->hard == hard_state{8, 4}); // Not the vote of an older term: nobody else may lead.
}

TEST_CASE("of two voters none raises its term at the start") {
  participant_settings how;
  how.core.address = "1";
  nothing_stored log;
  auto it = participant::make(how, log).value();
  const configuration both{{1, "1"}, {2, "2"}};
  REQUIRE_FALSE(it->start({{7, 2}, {}, 1, {{1, entry_kind::change, encode(both)}}}, 0, 0));
  CHECK_FALSE(it->is_leader());
  CHECK(it->term() == 7);
}

TEST_CASE("a sole voter hands over to nobody, and its leader is not removed") {
  sole_voter one;
  CHECK(one.it->transfer(0, 1) == refusal::invalid);
  CHECK(one.it->transfer(1, 1) == refusal::invalid);
  CHECK(one.it->change(remove_member{1}, 1) == refusal::malformed);
  CHECK_FALSE(one.it->change(add_spare{{2, "2"}}, 1));
}

} // namespace assay::consensus
