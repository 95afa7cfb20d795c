// A coordinator that missed more than the others' logs still hold: it takes over a state.

#include "src/store/ledger_audit.hpp"
#include "src/store/state_store.hpp"
#include "src/wire/row_codec.hpp"
#include "tests/unit/store/group.hpp"

#include <atomic>

namespace assay::store {

using namespace test;

namespace {

constexpr std::uint32_t trailing = 40; // More than may be on their way to a member.

/// Member 3 is away while both of the others forget what it would need, whoever leads later.
receipt leave_behind(group& all) {
  all.grow_to(3);
  const auto last = all.put(all.identity("seen-by-all"));
  (void)all.tables_at(3, last.seq);
  const auto reached = all.engine(3).status().last_index;
  all.stop(3);
  auto has_forgotten = [&](std::uint64_t id) {
    return all.engine(id).status().first_index > reached + 1;
  };
  receipt newest = last;
  for (int i = 0; !has_forgotten(1) || !has_forgotten(2); ++i)
    newest = all.put(all.identity("missed-" + std::to_string(i)));
  return newest;
}

void check_equal(group& all, const receipt& newest) {
  const auto last = all.put(all.identity("after"));
  for (std::uint64_t id = 1; id <= 3; ++id)
    CHECK(all.tables_at(id, last.seq)->head.chain == last.chain);
  CHECK(*all.tables_at(1, last.seq) == *all.tables_at(3, last.seq));
  REQUIRE(newest.seq < last.seq);
  all.wait_for_disk(1);
  all.wait_for_disk(3);
  for (std::uint64_t seq = 1; seq <= newest.seq; ++seq) {
    const auto key = row_key(ledger::table::records, ledger::record_key(seq));
    CHECK(all.engine(3).read_row(key).value() == all.engine(1).read_row(key).value());
  }
}

} // namespace

TEST_CASE("a member that missed more than the log holds takes over a state and goes on from it") {
  group all{trailing};
  const auto newest = leave_behind(all);
  std::atomic<int> pages = 0;
  all.inspect_pages([&](state_page&) { return ++pages > 0; });
  all.start(3);
  check_equal(all, newest);
  CHECK(pages > 0);
  all.wait_until([&] { // The state is shown before the log writer has replaced the log.
    const auto now = all.engine(3).status();
    return now.first_index > 1 && !now.is_fetching;
  });

  all.stop(3);
  all.start(3); // From the log that the mark replaced and the state that came in.
  const auto last = all.put(all.identity("after-its-restart"));
  CHECK(all.tables_at(3, last.seq)->head.chain == last.chain);
}

TEST_CASE("pages that are lost or changed on the way only delay a take-over") {
  group all{trailing};
  const auto newest = leave_behind(all);
  std::atomic<int> pages = 0;
  all.inspect_pages([&](state_page& page) {
    const auto number = ++pages;
    if (number == 1)
      return false;
    if (number == 2 && !page.rows.empty())
      page.rows.back().value.back() ^= 1;
    return true;
  });
  all.start(3);
  check_equal(all, newest);
  CHECK(pages >= 3);
}

TEST_CASE("a member that ends in the middle of a take-over begins another one") {
  group all{trailing};
  const auto newest = leave_behind(all);
  std::atomic<bool> has_asked = false;
  all.inspect_pages([&](state_page&) {
    has_asked = true;
    return false;
  });
  all.start(3);
  all.wait_until([&] { return has_asked.load(); });
  all.stop(3);
  all.inspect_pages({});
  all.start(3);
  check_equal(all, newest);
}

TEST_CASE("a state that is ahead of its log is opened if it was taken over, and else refused") {
  const bool is_fetched = GENERATE(true, false);
  scratch place;
  auto directory = open_directory(place.path());
  engine_options options;
  options.map_bytes = 64 << 20;
  REQUIRE(ledger_engine::prepare_to_join(directory, options));
  {
    auto state = state_store::open(directory.ledger(), options.map_bytes).value();
    if (is_fetched)
      REQUIRE_FALSE(state->adopt_incoming(40, 3));
    else
      REQUIRE_FALSE(state->write({}, 40, 3));
  }
  auto engine = ledger_engine::open(directory, std::make_unique<note_machine>(), options);
  REQUIRE(engine.has_value() == is_fetched);
  if (is_fetched)
    CHECK((*engine)->status().applied_index == 40);
  else
    CHECK(engine.error().what.find("the state is at entry 40") != std::string::npos);
}

TEST_CASE("the audit of a state finds what does not belong to its chain") {
  group all;
  for (int i = 0; i < 4; ++i)
    (void)all.put(all.identity("h" + std::to_string(i)));
  all.wait_for_disk(1);
  const auto rows = all.engine(1).read_rows({.prefix = {}, .from = {}, .count = 1'000}).value();
  const auto index = all.engine(1).current()->index;
  const auto records = row_key(ledger::table::records, {});
  auto judge = [&](const std::vector<stored_row>& those, std::uint64_t at) {
    ledger_audit audit;
    for (const auto& row : those)
      if (auto why = audit.take(row.key, row.value); !why.empty())
        return why;
    return audit.finish(at);
  };
  CHECK(judge(rows, index).empty());
  CHECK(judge(rows, index + 1).find("not of") != std::string::npos);
  CHECK(judge({}, index).find("no head") != std::string::npos);

  auto where = [&](std::uint64_t seq) {
    const auto key = records + ledger::record_key(seq);
    return std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.key == key; })
           - rows.begin();
  };
  auto without = rows;
  without.erase(without.begin() + where(3));
  CHECK(judge(without, index).find("record 4 follows record 2") != std::string::npos);
  auto cut = rows;
  cut.erase(cut.begin() + where(6));
  CHECK(judge(cut, index).find("the records end at 5") != std::string::npos);
  auto moved = rows;
  moved[static_cast<std::size_t>(where(4))].value = rows[static_cast<std::size_t>(where(3))].value;
  CHECK(judge(moved, index).find("another key") != std::string::npos);
  auto row = wire::decode_row(rows[static_cast<std::size_t>(where(4))].value).value();
  auto& record = std::get<ledger::record_row>(row);
  record.canonical.back() ^= 1;
  auto changed = rows;
  changed[static_cast<std::size_t>(where(4))].value = wire::encode_row(row);
  CHECK(judge(changed, index).find("hashed") != std::string::npos);
  record.stamp.record = ledger::record_hash(record.canonical);
  changed[static_cast<std::size_t>(where(4))].value = wire::encode_row(row);
  CHECK(judge(changed, index).find("chain") != std::string::npos);
}

} // namespace assay::store
