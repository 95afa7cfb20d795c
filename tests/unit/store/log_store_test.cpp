// What the log's environment holds after each of the transactions that consensus asks for.

#include "src/store/log_store.hpp"
#include "tests/unit/store/notes.hpp"

#include <cerrno>

namespace assay::store {

using namespace test;
using consensus::entry;
using consensus::entry_kind;

namespace {

constexpr std::uint64_t map_bytes = 64 << 20;

entry command(std::uint64_t term, std::string bytes) {
  return {term, entry_kind::command, std::move(bytes)};
}

const consensus::snapshot_mark mark{40, 3, 1, {{1, "here"}, {2, "there"}}};

} // namespace

TEST_CASE("entries written from an index on replace what stood there") {
  scratch place;
  auto log = log_store::open(place.path(), map_bytes).value();
  REQUIRE_FALSE(log->write({}, {{1, {command(1, "a"), command(1, "b"), command(1, "c")}}}));
  REQUIRE_FALSE(log->write(consensus::hard_state{2, 1}, {{2, {command(2, "d")}}}));
  const auto held = log->load().value();
  CHECK(held.hard == consensus::hard_state{2, 1});
  CHECK(held.entries.size() == 2);
  CHECK(log->at(1) == command(1, "a"));
  CHECK(log->at(2) == command(2, "d"));
  CHECK_FALSE(log->at(3));
}

TEST_CASE("a log that a fetched state replaces keeps the mark, the term, and nothing else") {
  scratch place;
  {
    auto log = log_store::open(place.path(), map_bytes).value();
    REQUIRE_FALSE(log->found("disk", {3, 2}, {1, {command(1, "a"), command(2, "b")}}));
    REQUIRE_FALSE(log->replace(mark));
    CHECK_FALSE(log->at(1));
  }
  auto log = log_store::open(place.path(), map_bytes).value();
  const auto held = log->load().value();
  CHECK(held.snapshot == mark);
  CHECK(held.entries.empty());
  CHECK(held.first_index == 41);
  CHECK(held.hard == consensus::hard_state{3, 2});
  CHECK(held.disk_id == "disk");
  REQUIRE_FALSE(log->write({}, {{41, {command(3, "c")}}}));
  CHECK(log->load().value().entries.size() == 1);
}

TEST_CASE("a log is forgotten up to what is kept, and begins there after a restart") {
  scratch place;
  {
    auto log = log_store::open(place.path(), map_bytes).value();
    std::vector<entry> all(45, command(3, "x"));
    REQUIRE_FALSE(log->write(consensus::hard_state{3, 1}, {{1, all}}));
    REQUIRE_FALSE(log->compact(mark, 38));
  }
  auto log = log_store::open(place.path(), map_bytes).value();
  const auto held = log->load().value();
  CHECK(held.snapshot == mark);
  CHECK(held.first_index == 38);
  CHECK(held.entries.size() == 8);
  CHECK_FALSE(log->at(37));
}

TEST_CASE("what the journal holds is there after a restart, as if the environment held it") {
  scratch place;
  {
    auto log = log_store::open(place.path(), map_bytes).value();
    REQUIRE_FALSE(log->found("disk", {1, 1}, {1, {command(1, "a")}}));
    REQUIRE_FALSE(log->write(consensus::hard_state{2, 1}, {{2, {command(2, "b"), command(2, "c")}}})
    );
    REQUIRE_FALSE(log->write({}, {{3, {command(3, "d"), command(3, "e")}}}));
    CHECK(log->at(3) == command(3, "d"));
  }
  for (int restarts = 0; restarts < 2; ++restarts) {
    auto log = log_store::open(place.path(), map_bytes).value();
    const auto held = log->load().value();
    CHECK(held.hard == consensus::hard_state{2, 1});
    CHECK(held.entries.size() == 4);
    CHECK(log->at(1) == command(1, "a"));
    CHECK(log->at(2) == command(2, "b"));
    CHECK(log->at(3) == command(3, "d"));
    CHECK(log->at(4) == command(3, "e"));
    CHECK_FALSE(log->at(5));
    REQUIRE_FALSE(log->write_run(static_cast<std::uint64_t>(restarts)));
  }
}

TEST_CASE("a log that the journal cuts shorter than the environment has it stays so") {
  scratch place;
  {
    auto log = log_store::open(place.path(), map_bytes).value();
    std::vector<entry> all(9, command(1, "x"));
    REQUIRE_FALSE(log->found("disk", {1, 1}, {1, all}));
    REQUIRE_FALSE(log->write(consensus::hard_state{2, 1}, {{4, {command(2, "y")}}}));
    CHECK_FALSE(log->at(5));
  }
  auto log = log_store::open(place.path(), map_bytes).value();
  CHECK(log->load().value().entries.size() == 4);
  REQUIRE_FALSE(log->write_run(1));
  CHECK(log->at(4) == command(2, "y"));
  CHECK_FALSE(log->at(5));
}

TEST_CASE("more than a journal holds goes through it, and a batch that no journal holds past it") {
  scratch place;
  const auto large = command(1, std::string(journal_bytes / 3, 'l'));
  const auto too_large = command(1, std::string(journal_bytes, 't'));
  {
    auto log = log_store::open(place.path(), map_bytes).value();
    REQUIRE_FALSE(log->write(consensus::hard_state{1, 1}, {}));
    for (std::uint64_t i = 1; i <= 7; ++i)
      REQUIRE_FALSE(log->write({}, {{i, {i == 5 ? too_large : large}}}));
    for (std::uint64_t i = 1; i <= 7; ++i)
      CHECK(log->at(i) == (i == 5 ? too_large : large));
  }
  auto log = log_store::open(place.path(), map_bytes).value();
  CHECK(log->load().value().hard == consensus::hard_state{1, 1});
  CHECK(log->load().value().entries.size() == 7);
  for (std::uint64_t i = 1; i <= 7; ++i)
    CHECK(log->at(i) == (i == 5 ? too_large : large));
}

TEST_CASE("a process that dies between the environment's commit and the next frame loses nothing") {
  scratch place, copy;
  auto log = log_store::open(place.path(), map_bytes).value();
  REQUIRE_FALSE(log->write(consensus::hard_state{1, 1}, {{1, {command(1, "a"), command(1, "b")}}}));
  REQUIRE_FALSE(log->write_run(1)); // Settles; the journal's old frames are still in its file.
  std::filesystem::copy(place.path(), copy.path() / "raft");
  {
    auto found = log_store::open(copy.path() / "raft", map_bytes).value();
    CHECK(found->load().value().entries.size() == 2);
    REQUIRE_FALSE(found->write({}, {{2, {command(2, "c")}}}));
  }
  auto found = log_store::open(copy.path() / "raft", map_bytes).value();
  CHECK(found->at(1) == command(1, "a"));
  CHECK(found->at(2) == command(2, "c"));
}

TEST_CASE("a full disk under the environment's commit keeps what the journal holds") {
  scratch place;
  auto log = log_store::open(place.path(), map_bytes).value();
  REQUIRE_FALSE(log->write(consensus::hard_state{1, 1}, {{1, {command(1, "a")}}}));
  int code = EDQUOT;
  log->inject([&] { return code; });
  CHECK(log->write_run(1).value().is_disk_full);
  CHECK(log->at(1) == command(1, "a"));
  code = 0;
  REQUIRE_FALSE(log->write_run(1));
  CHECK(log->at(1) == command(1, "a"));
}

TEST_CASE("a log without its journal is refused") {
  scratch place;
  {
    auto log = log_store::open(place.path(), map_bytes).value();
    REQUIRE_FALSE(log->write(consensus::hard_state{1, 1}, {{1, {command(1, "a")}}}));
  }
  std::filesystem::remove(place.path() / "journal");
  auto log = log_store::open(place.path(), map_bytes);
  REQUIRE_FALSE(log);
  CHECK(log.error().what == "the journal is missing; the newest entries are in it");
}

TEST_CASE("a journal that a full disk kept from being marked takes nothing") {
  scratch place;
  {
    auto log = log_store::open(place.path(), map_bytes).value();
    int code = EDQUOT;
    log->inject([&] { return code; }); // Met by the mark; making the file does not ask.
    CHECK(log->write(consensus::hard_state{1, 1}, {{1, {command(1, "a")}}}).value().is_disk_full);
    code = 0;
    REQUIRE_FALSE(log->write(consensus::hard_state{1, 1}, {{1, {command(1, "a")}}}));
  }
  auto log = log_store::open(place.path(), map_bytes).value();
  CHECK(log->load().value().hard == consensus::hard_state{1, 1});
  CHECK(log->at(1) == command(1, "a"));
}

} // namespace assay::store
