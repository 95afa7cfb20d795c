#include "src/base/limits.hpp"
#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::ledger::test {

namespace {

template <class Row>
const Row* written(const batch_outcome& o) {
  const Row* found = nullptr;
  for (const auto& change : o.rows)
    if (change.row)
      if (auto* r = std::get_if<Row>(&*change.row))
        found = r;
  return found;
}

const declared pool_x{catalog::pool{.name = {"x"}}};

} // namespace

TEST_CASE("nothing is taken before the cluster is created, and that only once") {
  world w;
  CHECK(w.code(pool_x) == "no_cluster");
  CHECK(w.t.head.seq == 0);
  w.must(cluster_created{make_uuid7(7, {}), "c"});
  CHECK(w.t.head.seq == 1);
  CHECK(w.code(cluster_created{make_uuid7(8, {}), "d"}) == "cluster_exists");
}

TEST_CASE("seq is dense over taken records and each one extends the chain (I1)") {
  auto w = world::site();
  auto seq = w.t.head.seq;
  auto chain = w.t.head.chain;
  CHECK(w.code(declared{catalog::pool{.name = {""}}}) == "bad_name");
  CHECK(w.t.head.seq == seq);
  CHECK(w.t.head.chain == chain);
  auto r = w.next_record(pool_x);
  auto receipt = std::get<ledger::receipt>(w.say(r));
  CHECK(receipt.seq == seq + 1);
  CHECK(receipt.chain == chain_hash(chain, seq + 1, entry_of(r).hash, w.now));
  CHECK(w.t.head.chain == receipt.chain);
}

TEST_CASE("the same record again gets its first receipt (I2)") {
  auto w = world::site();
  auto r = w.next_record(pool_x);
  auto first = std::get<receipt>(w.say(r));
  w.now.value += 1'000;
  auto again = std::get<receipt>(w.say(r));
  CHECK(again.repeated);
  CHECK(again.seq == first.seq);
  CHECK(again.chain == first.chain);
  CHECK(again.stamped_at == first.stamped_at);
  CHECK(w.t.head.seq == first.seq);
}

TEST_CASE("an id that was used for another record is refused (I2)") {
  auto w = world::site();
  auto r = w.next_record(pool_x);
  w.say(r);
  r.reason_text = "another";
  CHECK(std::get<refusal>(w.say(r)).code == "id_reused");
}

TEST_CASE("a record that is twice in one batch is taken once") {
  auto w = world::site();
  auto r = w.next_record(pool_x);
  auto seq = w.t.head.seq;
  auto again = std::get<receipt>(w.send({.entries = {entry_of(r), entry_of(r)}}));
  CHECK(again.repeated);
  CHECK(w.t.head.seq == seq + 1);
}

TEST_CASE("a refused record keeps its hash in the batch's row") {
  auto w = world::site();
  auto good = entry_of(w.next_record(pool_x));
  auto bad = entry_of(w.next_record(retired{declaration_kind::pool, "none"}));
  entry broken{{}, "broken", record_hash("broken"), true};
  w.send({.entries = {bad, good, broken}});
  auto* row = written<batch_row>(w.last);
  REQUIRE(row);
  CHECK(row->records == std::vector{bad.hash, good.hash, broken.hash});
  CHECK(row->seqs == std::vector<std::uint64_t>{0, w.t.head.seq, 0});
  CHECK(row->signature.size() == 64);
  CHECK(std::get<refusal>(w.last.verdicts[2]).code == "malformed");
}

TEST_CASE("the rows of a batch end with the head, which carries the applied index (I4)") {
  auto w = world::site();
  w.must(pool_x);
  auto* head = std::get_if<head_row>(&*w.last.rows.back().row);
  REQUIRE(head);
  CHECK(head->applied_index == w.index);
  CHECK(*head == w.t.head);
}

TEST_CASE("an entry without a batch moves only the applied index") {
  auto w = world::site();
  auto before = w.t.head;
  auto outcome = apply_nothing(w.t, ++w.index, 9);
  REQUIRE(outcome.rows.size() == 1);
  before.applied_index = w.index;
  before.applied_term = 9;
  CHECK(w.t.head == before);
}

TEST_CASE("a batch that only holds state entries leaves no batch row") {
  auto w = world::site();
  w.say(state_entry{usage{{"k"}, dawn, 1, 2, 3}});
  CHECK_FALSE(written<batch_row>(w.last));
  CHECK(w.t.usage->size() == 1);
}

TEST_CASE("stamped time never goes back") {
  auto w = world::site();
  w.now.value -= 10'000;
  auto receipt = std::get<ledger::receipt>(w.say(pool_x));
  CHECK(receipt.stamped_at == dawn);
  CHECK(w.t.head.stamped_at == dawn);
}

TEST_CASE("a taken record can be found by seq, by id and by each subject") {
  auto w = world::site();
  w.must(pool_x);
  auto* record = written<record_row>(w.last);
  REQUIRE(record);
  CHECK(record->stamp.seq == w.t.head.seq);
  CHECK(written<record_id_row>(w.last)->seq == w.t.head.seq);
  auto* subject = written<subject_row>(w.last);
  REQUIRE(subject);
  CHECK(subject->what == subject_of("pool", "x"));
  CHECK(key_of(*subject).starts_with(subject_prefix(subject->what)));
}

TEST_CASE("an envelope without author, id or subjects is refused") {
  auto w = world::site();
  auto r = w.next_record(pool_x);
  r.author.who.clear();
  CHECK(std::get<refusal>(w.say(r)).code == "bad_envelope");
  r = w.next_record(pool_x);
  r.subjects.clear();
  CHECK(std::get<refusal>(w.say(r)).code == "bad_envelope");
  r = w.next_record(pool_x);
  r.record_id = {};
  CHECK(std::get<refusal>(w.say(r)).code == "bad_envelope");
}

TEST_CASE("parents are taken up to the limit and one more is refused") {
  auto w = world::site();
  auto r = w.next_record(pool_x);
  r.parents.resize(limits::parents + 1);
  CHECK(std::get<refusal>(w.say(r)).code == "bad_envelope");
  r = w.next_record(pool_x);
  r.parents.resize(limits::parents);
  CHECK(std::holds_alternative<receipt>(w.say(r)));
}

TEST_CASE("a record from a newer version is refused, not guessed at") {
  auto w = world::site();
  auto r = w.next_record(pool_x);
  r.schema_version = schema_version + 1;
  CHECK(std::get<refusal>(w.say(r)).code == "newer_schema");
}

TEST_CASE("asking whether a record would be taken changes nothing") {
  auto w = world::site();
  auto before = w.t;
  CHECK_FALSE(refuses(w.t, w.next_record(pool_x), w.now));
  CHECK(refuses(w.t, w.next_record(retired{declaration_kind::pool, "none"}), w.now));
  CHECK(w.t == before);
}

TEST_CASE("a published version of the tables stays as it was") {
  auto w = world::site();
  auto view = w.t;
  w.must(pool_x);
  CHECK(find(w.t.pools, pool_id{"x"}));
  CHECK_FALSE(find(view.pools, pool_id{"x"}));
}

TEST_CASE("every row's key fits the store and rows of one table differ by it") {
  auto w = world::site();
  auto longest = std::string(64, 'x');
  w.must(declared{catalog::pool{.name = {longest}}});
  for (const auto& change : w.last.rows)
    CHECK(change.key.size() <= limits::key_bytes);
  CHECK(record_key(255) < record_key(256));
}

} // namespace assay::ledger::test
