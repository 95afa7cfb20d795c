// How the rows of another member take the place of ours: whole, or not at all.

#include "src/store/state_store.hpp"
#include "tests/unit/store/notes.hpp"

#include <atomic>
#include <thread>

namespace assay::store {

using namespace test;

namespace {

constexpr std::uint64_t map_bytes = 64 << 20;

std::vector<stored_row> all_rows(const state_store& in) {
  return in.rows({.prefix = {}, .from = {}, .count = 1'000}).value();
}

} // namespace

TEST_CASE("rows that come in are seen by nobody until they are adopted, and then alone") {
  scratch place;
  {
    auto state = state_store::open(place.path(), map_bytes).value();
    REQUIRE_FALSE(state->write_identity("disk"));
    REQUIRE_FALSE(state->write({{"a", "old"}, {"b", "old"}}, 7, 2));
    REQUIRE_FALSE(state->clear_incoming());
    REQUIRE_FALSE(state->write_incoming({{"a", "new"}, {"lost with its process", "new"}}));
    CHECK(all_rows(*state) == std::vector<stored_row>{{"a", "old"}, {"b", "old"}});
  }
  auto state = state_store::open(place.path(), map_bytes).value();
  CHECK(all_rows(*state) == std::vector<stored_row>{{"a", "old"}, {"b", "old"}});
  REQUIRE_FALSE(state->clear_incoming());
  REQUIRE_FALSE(state->write_incoming({{"a", "new"}, {"c", "new"}}));
  REQUIRE_FALSE(state->write_incoming({{"d", "new"}}));
  REQUIRE_FALSE(state->adopt_incoming(40, 3));
  const std::vector<stored_row> fetched{{"a", "new"}, {"c", "new"}, {"d", "new"}};
  CHECK(all_rows(*state) == fetched);
  CHECK_FALSE(state->row("b").value());

  state = state_store::open(place.path(), map_bytes).value();
  CHECK(all_rows(*state) == fetched);
  const auto mark = state->load_mark().value();
  CHECK(mark.index == 40);
  CHECK(mark.term == 3);
  CHECK(mark.fetched == 40);
  CHECK(mark.disk_id == "disk");
  REQUIRE_FALSE(state->write({{"c", std::nullopt}}, 41, 3));
  CHECK(state->load_mark()->fetched == 40);
  CHECK_FALSE(state->row("c").value());
}

TEST_CASE("what came in for an attempt that failed is gone when the next one begins") {
  scratch place;
  auto state = state_store::open(place.path(), map_bytes).value();
  REQUIRE_FALSE(state->write_incoming({{"z", "of the first attempt"}}));
  REQUIRE_FALSE(state->clear_incoming());
  REQUIRE_FALSE(state->write_incoming({{"a", "of the second"}}));
  REQUIRE_FALSE(state->adopt_incoming(9, 1));
  CHECK(all_rows(*state) == std::vector<stored_row>{{"a", "of the second"}});
}

TEST_CASE("an adoption that failed leaves the old rows in force") {
  scratch place;
  auto state = state_store::open(place.path(), map_bytes).value();
  REQUIRE_FALSE(state->write({{"a", "old"}}, 7, 2));
  REQUIRE_FALSE(state->write_incoming({{"a", "new"}}));
  std::atomic<int> fault = ENOSPC;
  state->inject([&] { return fault.load(); });
  CHECK(state->adopt_incoming(40, 3));
  CHECK(state->row("a").value() == "old");
  fault = 0;
  CHECK_FALSE(state->adopt_incoming(40, 3));
  CHECK(state->row("a").value() == "new");
}

TEST_CASE("a process killed between the renames of an adoption finds the one state or the other") {
  scratch place;
  const auto incoming = place.path() / "incoming";
  auto state = state_store::open(place.path(), map_bytes).value();
  REQUIRE_FALSE(state->write({{"a", "old"}}, 7, 2));
  REQUIRE_FALSE(state->write_incoming({{"a", "new"}}));
  state.reset();
  std::filesystem::rename(incoming / "lock.mdb", place.path() / "lock.mdb");
  state = state_store::open(place.path(), map_bytes).value();
  CHECK(state->row("a").value() == "old");
  CHECK(state->load_mark()->index == 7);

  REQUIRE_FALSE(state->clear_incoming());
  REQUIRE_FALSE(state->write_incoming({{"a", "new"}}));
  REQUIRE_FALSE(state->adopt_incoming(40, 3));
  std::filesystem::create_directory(incoming); // Killed before it was removed.
  state = state_store::open(place.path(), map_bytes).value();
  CHECK(state->row("a").value() == "new");
  REQUIRE_FALSE(state->write_incoming({{"a", "newest"}}));
  REQUIRE_FALSE(state->adopt_incoming(41, 3));
  CHECK(state->row("a").value() == "newest");
}

TEST_CASE("a reader never sees a mixture, however often the rows are replaced") {
  scratch place;
  auto state = state_store::open(place.path(), map_bytes).value();
  REQUIRE_FALSE(state->write({{"a", "0"}, {"b", "0"}}, 1, 1));
  std::atomic<bool> is_over = false;
  std::atomic<int> mixtures = 0, looks = 0;
  std::thread reader{[&] {
    while (!is_over) {
      const auto seen = all_rows(*state);
      mixtures += seen.size() != 2 || seen[0].value != seen[1].value ? 1 : 0;
      ++looks;
    }
  }};
  for (std::uint64_t i = 1; i <= 50 || looks < 50; ++i) {
    const auto text = std::to_string(i);
    REQUIRE_FALSE(state->clear_incoming());
    REQUIRE_FALSE(state->write_incoming({{"a", text}, {"b", text}}));
    REQUIRE_FALSE(state->adopt_incoming(i + 1, 1));
  }
  is_over = true;
  reader.join();
  CHECK(mixtures == 0);
}

TEST_CASE("a copy shows its moment, page by page, while the state goes on") {
  scratch place;
  auto state = state_store::open(place.path(), map_bytes).value();
  REQUIRE_FALSE(state->write({{"a", "1"}, {"b", "2"}, {"c", "3"}}, 7, 2));
  const auto copy = state->copy_of_now().value();
  REQUIRE_FALSE(state->write({{"a", std::nullopt}, {"b", "changed"}, {"d", "4"}}, 8, 2));
  CHECK(copy->index() == 7);
  CHECK(copy->term() == 2);
  CHECK(copy->page("", 4).value() == std::vector<stored_row>{{"a", "1"}, {"b", "2"}});
  CHECK(copy->page("b", 4).value() == std::vector<stored_row>{{"c", "3"}});
  CHECK(copy->page("c", 4).value().empty());
}

} // namespace assay::store
