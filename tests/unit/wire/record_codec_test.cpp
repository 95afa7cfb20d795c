#include "src/base/limits.hpp"
#include "src/wire/record_codec.hpp"
#include "src/wire/row_codec.hpp"
#include "tests/schema/filled.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::wire {

namespace {

ledger::record some_record() {
  return ledger::make_record(
    make_uuid7(1, {}),
    ledger::declared{catalog::pool{.name = {"cpu-a"}, .labels = {{"rack", "7"}}}},
    {"root", ledger::authentication::socket},
    {"operator", "first"}
  );
}

template <class V>
bool all_round_trip(auto encode_one, auto decode_one) {
  bool all = true;
  test::each_filled<V>([&](std::string_view name, const V& value) {
    INFO(name);
    auto again = decode_one(encode_one(value));
    REQUIRE(again.has_value());
    CHECK(*again == value);
    all = all && *again == value;
  });
  return all;
}

} // namespace

TEST_CASE("every kind of record comes back as it was") {
  test::each_filled<ledger::payload>([](std::string_view name, ledger::payload p) {
    INFO(name);
    auto r = some_record();
    r.payload = std::move(p);
    auto again = decode_record(encode(r));
    REQUIRE(again.has_value());
    CHECK(*again == r);
  });
}

TEST_CASE("every kind of declaration comes back as it was") {
  test::each_filled<catalog::declaration>([](std::string_view name, catalog::declaration d) {
    INFO(name);
    auto r = some_record();
    r.payload = ledger::declared{std::move(d)};
    auto again = decode_record(encode(r));
    REQUIRE(again.has_value());
    CHECK(*again == r);
  });
}

TEST_CASE("every kind of state entry and row comes back as it was") {
  CHECK(all_round_trip<ledger::state_entry>(
    [](const auto& s) { return encode(s); }, [](const auto& b) { return decode_state(b); }
  ));
  CHECK(all_round_trip<ledger::row>(
    [](const auto& r) { return encode_row(r); }, [](const auto& b) { return decode_row(b); }
  ));
}

TEST_CASE("a value with nothing set comes back as it was") {
  ledger::record empty;
  auto again = decode_record(encode(empty));
  REQUIRE(again.has_value());
  CHECK(*again == empty);
}

TEST_CASE("equal records have equal bytes, and the hash is of those bytes") {
  auto e = make_entry(some_record());
  CHECK(e.canonical == encode(some_record()));
  CHECK(e.hash == ledger::record_hash(e.canonical));
  CHECK(e.is_record);
}

// A bit that no field of this version uses is an unknown field's: the value is the same, the hash
// is not.
TEST_CASE("no flipped bit of a record is read as the same record") {
  auto bytes = encode(some_record());
  for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
    auto flipped = bytes;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << (i % 8)));
    auto read = decode_record(flipped);
    if (!read)
      continue;
    CHECK((*read == some_record() || encode(*read) == flipped));
    CHECK(make_entry(some_record()).hash != ledger::record_hash(flipped));
  }
}

TEST_CASE("a record cut at any byte is malformed") {
  auto bytes = encode(some_record());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(decode_record(bytes.substr(0, size)));
}

TEST_CASE("zero words behind a record are not canonical") {
  CHECK_FALSE(decode_record(encode(some_record()) + std::string(8, '\0')));
}

TEST_CASE("a record of the allowed size is read and a word more is not") {
  auto sized = [](std::size_t text) {
    auto r = some_record();
    r.reason_text = std::string(text, 'x');
    return encode(r);
  };
  auto base = sized(8).size() - 16;
  auto fits = limits::proposal_bytes - base - 8;
  CHECK(sized(fits).size() == limits::proposal_bytes);
  CHECK(decode_record(sized(fits)));
  CHECK_FALSE(decode_record(sized(fits + 8)));
}

TEST_CASE("text that is not UTF-8 is malformed") {
  auto r = some_record();
  r.reason_text = "\xff\xfe";
  auto read = decode_record(encode(r));
  REQUIRE_FALSE(read);
  CHECK(read.error().text == "a text is not UTF-8");
}

TEST_CASE("a proposal is a record or a state entry, and says which") {
  auto record = decode_proposal(encode_proposal(some_record()));
  REQUIRE(record);
  CHECK(std::get<ledger::record>(record->what) == some_record());
  CHECK(record->hash == make_entry(some_record()).hash);
  auto state = decode_proposal(encode_proposal(ledger::state_entry{ledger::usage{{"k"}, {5}, 1}}));
  REQUIRE(state);
  CHECK(std::holds_alternative<ledger::state_entry>(state->what));
  CHECK_FALSE(decode_proposal("junk"));
  CHECK_FALSE(decode_proposal(encode(some_record())));
}

TEST_CASE("a batch comes back as it was, and its hashes in order") {
  ledger::batch b;
  b.term = 3;
  b.stamped_at = {77};
  b.proposer = "one";
  b.signature[63] = 9;
  b.entries = {
    make_entry(some_record()),
    make_entry(ledger::state_entry{ledger::usage{{"k"}, {5}, 1}}),
    make_entry(some_record())};
  auto again = decode_batch(encode(b));
  REQUIRE(again);
  CHECK(again->term == 3);
  CHECK(again->stamped_at == wall_ms{77});
  CHECK(again->proposer == "one");
  CHECK(again->signature == b.signature);
  REQUIRE(again->entries.size() == 3);
  CHECK(again->entries[1].what == b.entries[1].what);
  CHECK(ledger::record_hashes(*again) == ledger::record_hashes(b));
}

TEST_CASE("an undecodable record in a batch keeps its place and hash") {
  ledger::batch b;
  b.entries = {ledger::entry{{}, "not canonical", ledger::record_hash("not canonical"), true}};
  auto again = decode_batch(encode(b));
  REQUIRE(again);
  REQUIRE(again->entries.size() == 1);
  CHECK(std::holds_alternative<std::monostate>(again->entries[0].what));
  CHECK(ledger::record_hashes(*again) == ledger::record_hashes(b));
}

} // namespace assay::wire
