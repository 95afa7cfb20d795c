// A coordinator whose state is damaged and whose log is whole takes the leader's state, and stays a
// member meanwhile.

#include "src/store/state_store.hpp"
#include "src/wire/row_codec.hpp"
#include "tests/unit/store/group.hpp"

#include <atomic>

namespace assay::store {

using namespace test;

namespace {

constexpr std::uint64_t map_bytes = 256 << 20;

std::string key_of_record(std::uint64_t seq) {
  return row_key(ledger::table::records, ledger::record_key(seq));
}

result<void, problem> mend(ledger_engine& engine) {
  auto promise = std::make_shared<std::promise<result<void, problem>>>();
  engine.mend([promise](result<void, problem> r) { promise->set_value(std::move(r)); });
  return promise->get_future().get();
}

/// Somebody who follows, with one bit of this record flipped on its disk.
std::uint64_t spoil_a_follower(group& all, std::uint64_t seq) {
  const std::uint64_t id = all.leader() == 3 ? 2 : 3;
  (void)all.tables_at(id, seq);
  all.wait_for_disk(id);
  all.stop(id);
  {
    auto state = state_store::open(all.directory(id).ledger(), map_bytes).value();
    auto row = state->row(key_of_record(seq)).value().value();
    row.back() = static_cast<char>(row.back() ^ 1);
    const auto now = state->load_mark().value();
    REQUIRE_FALSE(state->write({{key_of_record(seq), row}}, now.index, now.term));
  }
  all.start(id);
  all.wait_until([&] { return all.engine(id).status().leader_id != 0; });
  return id;
}

/// On both disks, which follow what was answered.
bool is_equal_at(group& all, std::uint64_t id, std::uint64_t seq) {
  all.wait_for_disk(all.leader());
  return all.engine(id).read_row(key_of_record(seq)).value()
         == all.engine(all.leader()).read_row(key_of_record(seq)).value();
}

/// Asks until a whole state has come: leaders change on a busy machine.
void mend_for_good(group& all, std::uint64_t id) {
  while (all.engine(id).status().taken_over == 0)
    if (mend(all.engine(id)))
      all.wait_until([&] { return !all.engine(id).status().is_fetching; });
}

} // namespace

TEST_CASE("a damaged follower takes the leader's state, under records, and goes on from it") {
  group all;
  all.grow_to(3);
  const auto spoilt = all.put(all.identity("spoilt"));
  for (int i = 0; i < 20; ++i)
    (void)all.put(all.identity("before" + std::to_string(i)));
  const auto id = spoil_a_follower(all, spoilt.seq);
  REQUIRE_FALSE(is_equal_at(all, id, spoilt.seq));

  std::atomic<bool> is_over = false;
  receipt last;
  std::thread writer{[&] {
    for (int i = 0; !is_over; ++i)
      last = all.put(all.identity("meanwhile" + std::to_string(i)));
  }};
  mend_for_good(all, id);
  is_over = true;
  writer.join();
  CHECK(is_equal_at(all, id, spoilt.seq));
  last = all.put(all.identity("last"));
  CHECK(all.tables_at(id, last.seq)->head.chain == last.chain);
  all.wait_for_disk(id);
  CHECK(is_equal_at(all, id, last.seq));

  all.stop(id); // From its own log and the state that came in.
  all.start(id);
  const auto after = all.put(all.identity("after-its-restart"));
  CHECK(all.tables_at(id, after.seq)->head.chain == after.chain);
  CHECK(is_equal_at(all, id, spoilt.seq));
}

TEST_CASE("a mending that is cut in the middle leaves the old state, or the new one") {
  group all;
  all.grow_to(3);
  const auto spoilt = all.put(all.identity("spoilt"));
  const auto id = spoil_a_follower(all, spoilt.seq);
  std::atomic<bool> has_asked = false;
  all.inspect_pages([&](state_page&) {
    has_asked = true;
    return false;
  });
  while (!has_asked)
    if (mend(all.engine(id)))
      all.wait_until([&] { return has_asked || !all.engine(id).status().is_fetching; });
  all.stop(id);
  all.inspect_pages({});
  all.start(id);
  CHECK_FALSE(is_equal_at(all, id, spoilt.seq)); // As it was, and asked again:
  all.wait_until([&] { return all.engine(id).status().leader_id != 0; });
  mend_for_good(all, id);
  CHECK(is_equal_at(all, id, spoilt.seq));
}

TEST_CASE("a disk without room for a second state keeps the old one, and is mended once it has") {
  group all;
  all.grow_to(3);
  const auto spoilt = all.put(all.identity("spoilt"));
  const auto id = spoil_a_follower(all, spoilt.seq);
  all.fill_disk_of(id);
  std::atomic<bool> has_asked = false;
  all.inspect_pages([&](state_page&) { return has_asked = true; });
  while (!has_asked)
    if (mend(all.engine(id)))
      all.wait_until([&] { return !all.engine(id).status().is_fetching; });
  const auto last = all.put(all.identity("without-room"));
  CHECK(all.tables_at(id, last.seq)->head.chain == last.chain); // It applies, and does not wait.
  CHECK(all.engine(id).status().taken_over == 0);
  CHECK_FALSE(is_equal_at(all, id, spoilt.seq));
  CHECK_FALSE(std::filesystem::exists(all.directory(id).ledger() / "incoming"));

  all.fill_disk_of(0);
  mend_for_good(all, id);
  CHECK(is_equal_at(all, id, spoilt.seq));
}

TEST_CASE("a leader is not mended, and who is goes on with its old state when the leader is gone") {
  group all;
  all.grow_to(3);
  const auto spoilt = all.put(all.identity("spoilt"));
  CHECK_FALSE(mend(all.engine(all.leader())));
  const auto id = spoil_a_follower(all, spoilt.seq);
  all.inspect_pages([](state_page&) { return false; });
  std::uint64_t gone = 0;
  do { // An election may come in between; then it is asked again.
    gone = all.leader();
    (void)mend(all.engine(id));
  } while (gone == id || !all.engine(id).status().is_fetching);
  all.cut(gone);
  const auto last = all.put(all.identity("without-it"));
  all.wait_until([&] { return !all.engine(id).status().is_fetching; });
  CHECK(all.tables_at(id, last.seq)->head.chain == last.chain);
  CHECK(all.engine(id).status().taken_over == 0);
}

} // namespace assay::store
