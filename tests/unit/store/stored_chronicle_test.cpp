// Who served a route: from a store's disk, from an export of it, and from a directory that was made
// before there were indexes.

#include "src/ledger/who_served.hpp"
#include "src/store/ledger_export.hpp"
#include "src/store/state_store.hpp"
#include "src/store/stored_chronicle.hpp"
#include "src/wire/export_codec.hpp"
#include "tests/unit/ledger/world.hpp"
#include "tests/unit/store/notes.hpp"

namespace assay::store {

using namespace test;

namespace {

namespace site = ledger::test;

const ledger::author operator_{"root", ledger::authentication::socket};
const model_id route{"m"};
constexpr std::uint64_t map_bytes = 256 << 20;

struct kept_site {
  scratch place;
  data_directory directory = open_directory(place.path());
  ledger::signing_key::seed seed{5};
  ledger::signing_key key{seed};
  std::unique_ptr<ledger_engine> engine;

  kept_site() {
    open();
    auto w = site::world::site();
    site::qualify(w, {"qa"}, site::impl_a);
    site::qualify(w, {"qb"}, site::impl_b);
    site::promote(w, "to-a", site::impl_a, {"qa"});
    site::promote(w, "to-b", site::impl_b, {"qb"});
    for (const auto& k : w.kept) {
      put(k.record);
      if (std::holds_alternative<ledger::cluster_created>(k.record.payload))
        put(ledger::make_record(
          ledger::membership{{{1, "local", "local", ledger::to_text(key.public_part()), true}}},
          operator_
        ));
    }
  }

  void open() {
    engine_options options;
    options.map_bytes = map_bytes;
    if (!ledger_engine::is_bootstrapped(directory))
      REQUIRE(ledger_engine::bootstrap(directory, options));
    auto opened =
      ledger_engine::open(directory, std::make_unique<ledger_machine>(seed, "local"), options);
    if (!opened)
      FAIL(to_text(opened.error()));
    engine = *std::move(opened);
  }

  void put(const ledger::record& r) {
    auto got = ask(*engine, wire::encode_proposal(r)).get();
    if (!got)
      FAIL(to_text(got.error()));
  }

  stored_chronicle chronicle() {
    auto view = barrier(*engine);
    REQUIRE(view);
    return {*engine, tables_of(*view)};
  }

  /// When record `seq` was stamped.
  wall_ms when(std::uint64_t seq) { return chronicle().stamped_at(seq).value(); }

  ledger::served ask_at(wall_ms at) {
    auto c = chronicle();
    auto found = ledger::who_served(c, route, at);
    if (!found)
      FAIL(to_text(found.error()));
    return *std::move(found);
  }

  std::string exported() {
    REQUIRE(barrier(*engine)); // The export is cut at the view that is newest then.
    auto whole = ledger_export::begin(*engine, {key, "local"});
    REQUIRE(whole);
    std::string bytes;
    for (auto piece = whole->next(); piece && !piece->empty(); piece = whole->next())
      bytes += *piece;
    return bytes;
  }

  /// Takes away what a program without indexes would not have written.
  std::size_t make_old() {
    engine.reset();
    auto state = state_store::open(directory.ledger(), map_bytes);
    REQUIRE(state);
    state_store::row_changes gone;
    auto forget = [&](std::string_view kind, std::string_view name) {
      auto prefix =
        row_key(ledger::table::subjects, ledger::subject_prefix(ledger::subject_of(kind, name)));
      auto rows = (*state)->rows({.prefix = prefix, .from = {}}).value();
      for (const auto& row : rows)
        gone[row.key] = std::nullopt;
    };
    forget(ledger::indexes::mark, ledger::indexes::mark);
    forget(ledger::indexes::route_change, route.value);
    for (const auto& id : {site::impl_a, site::impl_b})
      forget(ledger::indexes::qualification_of, id.value);
    auto mark = (*state)->load_mark().value();
    CHECK_FALSE((*state)->write(gone, mark.index, mark.term));
    return gone.size();
  }
};

} // namespace

TEST_CASE("a store and an export of it give one answer for every instant") {
  kept_site s;
  ledger::replayed_chronicle replayed{wire::read_record};
  auto bytes = s.exported();
  std::string_view rest{bytes};
  while (!rest.empty())
    REQUIRE_FALSE(replayed.auditor().feed(**wire::take_frame(rest)));
  REQUIRE_FALSE(replayed.auditor().finish());
  std::size_t answered = 0;
  for (std::uint64_t seq = 1; seq <= replayed.now().head.seq; ++seq) {
    auto at = s.when(seq);
    auto c = s.chronicle();
    auto live = ledger::who_served(c, route, at);
    auto file = ledger::who_served(replayed, route, at);
    REQUIRE(live.has_value() == file.has_value());
    if (live) {
      CHECK(ledger::lines_of(*live) == ledger::lines_of(*file));
      CHECK(*live == *file);
      ++answered;
    }
  }
  CHECK(answered > 5);
}

TEST_CASE("what came after the view is not told") {
  kept_site s;
  auto before = s.chronicle();
  auto seq = before.now().head.seq;
  s.put(ledger::make_record(ledger::declared{catalog::pool{.name = {"late"}}}, operator_));
  CHECK_FALSE(before.record_at(seq + 1));
  CHECK(before.record_at(seq));
  auto about =
    before.about(ledger::subject_of("pool", "late"), seq + 5, ledger::direction::older, 5);
  REQUIRE(about);
  CHECK(about->empty());
  CHECK(
    s.chronicle().about(ledger::subject_of("pool", "late"), 0, ledger::direction::newer, 5)->size()
    == 1
  );
}

TEST_CASE("a directory from before the indexes opens as it did, and answers the same") {
  kept_site s;
  auto at = barrier(*s.engine).value()->stamped_at; // Stamps may be ahead of the wall's clock.
  auto first = s.when(1);
  auto now = s.ask_at(at);
  auto c = s.chronicle();
  auto early = ledger::who_served(c, route, now.proposed.stamped_at);
  CHECK(s.make_old() == 9); // The mark, two changes, three events of each qualification.
  s.open();
  auto old = s.chronicle();
  CHECK_FALSE(ledger::has_indexes(old).value());
  CHECK(s.ask_at(at) == now);
  auto old_early = ledger::who_served(old, route, now.proposed.stamped_at);
  // At its proposal's instant the move may have been served already, or not: milliseconds decide.
  REQUIRE(early.has_value() == old_early.has_value());
  if (early)
    CHECK(*early == *old_early);
  else
    CHECK(to_text(early.error()) == to_text(old_early.error()));
  CHECK(s.when(1) == first);
}

} // namespace assay::store
