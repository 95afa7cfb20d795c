#include "src/app/proposing.hpp"
#include "src/app/scrub.hpp"
#include "src/store/ledger_machine.hpp"
#include "src/store/state_store.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::app {

namespace {

constexpr std::uint64_t map_bytes = 16 << 20;

/// A ledger of a hundred records, on disk and opened again after what was done to it.
class hundred {
public:
  hundred() {
    store::engine_options how;
    how.map_bytes = map_bytes;
    REQUIRE(store::ledger_engine::bootstrap(directory_, how));
    open();
    put(ledger::cluster_created{new_uuid7(), "lab"});
    for (auto i = 2; i <= 100; ++i)
      put(ledger::declared{catalog::project{{"p" + std::to_string(i)}, {}}});
    REQUIRE(read_now(*engine));
    REQUIRE(tables_of(*engine->current())->head.seq == 100);
  }

  void spoil(std::uint64_t seq) {
    engine.reset();
    {
      auto state = store::state_store::open(directory_.ledger(), map_bytes).value();
      const auto key = store::row_key(ledger::table::records, ledger::record_key(seq));
      auto row = state->row(key).value().value();
      row.back() = static_cast<char>(row.back() ^ 1);
      const auto now = state->load_mark().value();
      REQUIRE_FALSE(state->write({{key, row}}, now.index, now.term));
    }
    open();
  }

  std::unique_ptr<store::ledger_engine> engine;

private:
  void open() {
    store::engine_options how;
    how.map_bytes = map_bytes;
    engine = store::ledger_engine::open(
               directory_, std::make_unique<store::ledger_machine>(seed_, "local"), how
    )
               .value();
  }
  void put(ledger::payload what) {
    REQUIRE(propose_now(*engine, ledger::make_record(std::move(what), {"operator"})));
  }

  test::temp_folder where_;
  store::data_directory directory_{
    *store::data_directory::open(where_.path(), {.is_network_accepted = true})};
  ledger::signing_key::seed seed_ = ledger::signing_key::new_seed();
};

std::string found_within(hundred& in, int looks) {
  scrub s{*in.engine};
  steady_time at{std::chrono::hours{1}};
  for (int i = 0; i < looks; ++i, at += scrub::every + scrub::doubt)
    s.look(in.engine->status(), at);
  return s.damage();
}

} // namespace

TEST_CASE("damage among the newest records is found before the old ones are read") {
  hundred in;
  in.spoil(90);
  CHECK(found_within(in, scrub::times_found_most - 1).empty()
  ); // Looked at again before it is told.
  CHECK(found_within(in, scrub::times_found_most).find("record 90 ") != std::string::npos);
}

TEST_CASE("damage among the old records is found when the newest have passed") {
  hundred in;
  in.spoil(5);
  CHECK(found_within(in, 1).empty());
  CHECK(found_within(in, 1 + scrub::times_found_most).find("record 5 ") != std::string::npos);
}

TEST_CASE("a whole ledger is read through, and nothing is said of it") {
  hundred in;
  scrub s{*in.engine};
  steady_time at{std::chrono::hours{1}};
  for (int i = 0; i < 5; ++i, at += scrub::every) // The tail, and a hundred records by 32.
    s.look(in.engine->status(), at);
  CHECK(s.damage().empty());
  CHECK(s.rounds() == 1);
}

} // namespace assay::app
