// What the log's environment holds after each of the transactions that consensus asks for.

#include "src/store/log_store.hpp"
#include "tests/unit/store/notes.hpp"

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

} // namespace assay::store
