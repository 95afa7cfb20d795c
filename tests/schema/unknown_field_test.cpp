// A record of a newer version, met by this one: a field more keeps its bytes and its hash, a kind
// more is refused with the version that knows it.

#include "schema/ledger.capnp.h"
#include "src/wire/record_codec.hpp"

#include <capnp/any.h>
#include <capnp/serialize.h>
#include <catch2/catch_test_macros.hpp>

#include <cstring>
#include <functional>

namespace assay::test {

namespace {

ledger::record some_record() {
  return ledger::make_record(
    make_uuid7(1, {}),
    ledger::key_revoked{{"ada"}, "lost"},
    {"root", ledger::authentication::socket},
    {"operator", "found on a bus"}
  );
}

/// Copies a struct into a wider one: one more word of data, one more pointer.
void widen(capnp::AnyPointer::Builder to, capnp::AnyStruct::Reader from) {
  auto data = from.getDataSection();
  auto pointers = from.getPointerSection();
  auto wide = to.initAsAnyStruct(
    static_cast<std::uint16_t>(data.size() / 8 + 1), static_cast<std::uint16_t>(pointers.size() + 1)
  );
  std::memcpy(wide.getDataSection().begin(), data.begin(), data.size());
  wide.getDataSection()[data.size()] = 7;
  for (unsigned i = 0; i < pointers.size(); ++i)
    wide.getPointerSection()[i].set(pointers[i]);
  wide.getPointerSection()[pointers.size()].setAs<capnp::Text>("of a newer version");
}

std::string canonical(capnp::MessageBuilder& message) {
  auto words = message.getRoot<capnp::AnyStruct>().asReader().canonicalize();
  auto bytes = words.asBytes();
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

using change = std::function<void(capnp::MallocMessageBuilder&, schema::Record::Reader)>;

/// The record's bytes, changed.
std::string rewritten(const ledger::record& r, const change& how) {
  auto bytes = wire::encode(r);
  auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
  std::memcpy(words.begin(), bytes.data(), bytes.size());
  kj::ArrayPtr<const capnp::word> segment = words;
  capnp::SegmentArrayMessageReader read{kj::arrayPtr(&segment, 1)};
  capnp::MallocMessageBuilder message;
  how(message, read.getRoot<schema::Record>());
  return canonical(message);
}

std::string with_field_in_envelope(const ledger::record& r) {
  return rewritten(r, [](auto& to, auto from) {
    widen(to.template getRoot<capnp::AnyPointer>(), from);
  });
}

std::string with_field_in_payload(const ledger::record& r) {
  return rewritten(r, [](auto& to, auto from) {
    to.setRoot(from);
    auto payload = capnp::AnyStruct::Builder{to.template getRoot<schema::Record>().getPayload()};
    widen(payload.getPointerSection()[0], from.getPayload().getKeyRevoked());
  });
}

/// Of a kind that does not exist here.
std::string of_kind(const ledger::record& r, std::uint16_t kind) {
  return rewritten(r, [&](auto& to, auto from) {
    to.setRoot(from);
    auto payload = capnp::AnyStruct::Builder{to.template getRoot<schema::Record>().getPayload()};
    std::memcpy(payload.getDataSection().begin(), &kind, sizeof kind);
  });
}

constexpr auto next_kind = static_cast<std::uint16_t>(std::variant_size_v<ledger::payload>);

} // namespace

TEST_CASE("a record with a field that this version does not know keeps its bytes and its hash") {
  for (const auto& newer :
       {with_field_in_envelope(some_record()), with_field_in_payload(some_record())}) {
    REQUIRE(newer.size() > wire::encode(some_record()).size());
    auto read = wire::decode_record(newer);
    INFO((read ? std::string{} : read.error().text));
    REQUIRE(read);
    CHECK(*read == some_record());
    ledger::batch b;
    b.entries = {{*read, newer, ledger::record_hash(newer), true}};
    auto passed_on = wire::decode_batch(wire::encode(b));
    REQUIRE(passed_on);
    CHECK(passed_on->entries[0].canonical == newer);
    CHECK(passed_on->entries[0].hash == ledger::record_hash(newer));
    CHECK(std::holds_alternative<ledger::record>(passed_on->entries[0].what));
  }
}

TEST_CASE("a newer record is read in its one canonical form only") {
  auto newer = with_field_in_envelope(some_record());
  CHECK_FALSE(wire::decode_record(newer + std::string(8, '\0')));
  // A text of no bytes instead of none, in a field that is known.
  auto silent = some_record();
  silent.correlation_id.clear();
  auto odd = rewritten(silent, [](auto& to, auto from) {
    auto root = to.template getRoot<capnp::AnyPointer>();
    widen(root, from);
    root.template getAs<schema::Record>().initCorrelationId(0);
  });
  auto read = wire::decode_record(odd);
  REQUIRE_FALSE(read);
  CHECK(read.error().text == "the bytes are not canonical");
}

TEST_CASE("a kind that this version does not know is refused with the version that does") {
  auto r = some_record();
  r.schema_version = ledger::schema_version + 1;
  CHECK(wire::decode_record(of_kind(r, next_kind - 1))); // The last that is known, and empty here.
  auto read = wire::decode_record(of_kind(r, next_kind));
  REQUIRE_FALSE(read);
  CHECK(
    read.error().text
    == "the record needs schema version 3; this program knows 1 to 2 (a union holds a member that "
       "this version does not know): use a newer version of Assay"
  );
}

TEST_CASE("an unknown kind in a batch keeps its place and hash, and nothing of it is applied") {
  auto r = some_record();
  r.schema_version = ledger::schema_version + 1;
  auto bytes = of_kind(r, next_kind);
  ledger::batch b;
  b.term = 1;
  b.entries = {{{}, bytes, ledger::record_hash(bytes), true}};
  auto again = wire::decode_batch(wire::encode(b));
  REQUIRE(again);
  class : public ledger::history {
    std::optional<ledger::record_id_row> find(const uuid&) const override { return {}; }
  } nothing;
  ledger::tables t;
  auto outcome = ledger::apply(t, *again, 1, nothing);
  auto* no = std::get_if<ledger::refusal>(&outcome.verdicts[0]);
  REQUIRE(no);
  CHECK(no->text.find("nothing was applied") != std::string::npos);
  CHECK(t.head.seq == 0);
}

} // namespace assay::test
