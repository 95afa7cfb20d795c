// State entries, proposals and batches. What a record is, and which kinds of it there are, is
// record_codec.cpp's.

#include "schema/ledger.capnp.h"
#include "src/base/limits.hpp"
#include "src/wire/canonical.hpp"
#include "src/wire/first_segment.hpp"
#include "src/wire/record_codec.hpp"

namespace assay::wire {

namespace {

capnp::Data::Reader data(const void* bytes, std::size_t size) {
  return {static_cast<const kj::byte*>(bytes), size};
}

std::string_view text_of(capnp::Data::Reader bytes) {
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

/// Anything but a record or a state entry cannot be in a union of two, unless it is from the
/// future.
result<ledger::entry, malformed> read_entry(schema::Proposal::Reader from) {
  if (from.isRecord()) {
    auto canonical = std::string{text_of(from.getRecord())};
    auto r = decode_record(canonical);
    if (!r)
      return unexpected{r.error()};
    auto hash = ledger::record_hash(canonical);
    return ledger::entry{*std::move(r), std::move(canonical), hash, true};
  }
  if (!from.isState())
    return unexpected{malformed{"a proposal is neither a record nor a state entry"}};
  auto canonical = std::string{text_of(from.getState())};
  auto s = decode_state(canonical);
  if (!s)
    return unexpected{s.error()};
  return ledger::entry{*std::move(s), std::move(canonical), {}, false};
}

result<proposal_head, malformed> head_of(schema::Proposal::Reader from) {
  if (!from.isRecord())
    return proposal_head{};
  return walk::read_message<schema::Record>(
    text_of(from.getRecord()),
    limits::proposal_bytes,
    [](schema::Record::Reader r) -> result<proposal_head, malformed> {
      auto said = r.getPayload();
      return proposal_head{
        r.getSchemaVersion(),
        is_known_kind(static_cast<std::size_t>(said.which())),
        said.isClusterVersion() ? said.getClusterVersion().getVersion() : std::uint16_t{0}};
    }
  );
}

/// What stays of an entry that cannot be read: its bytes, and its hash for the batch's signature.
ledger::entry unread_entry(schema::Proposal::Reader from) {
  ledger::entry e;
  e.is_record = from.isRecord();
  if (e.is_record)
    e.canonical = text_of(from.getRecord());
  else if (from.isState())
    e.canonical = text_of(from.getState());
  if (e.is_record)
    e.hash = ledger::record_hash(e.canonical);
  return e;
}

void put_entry(schema::Proposal::Builder to, const ledger::entry& e) {
  auto bytes = data(e.canonical.data(), e.canonical.size());
  if (e.is_record)
    to.setRecord(bytes);
  else
    to.setState(bytes);
}

std::string proposal_bytes(const ledger::entry& e) {
  capnp::MallocMessageBuilder message{first_segment_words(e.canonical.size(), 1)};
  auto root = message.initRoot<schema::Proposal>();
  put_entry(root, e);
  return walk::canonical_bytes<schema::Proposal>(root);
}

result<ledger::batch, malformed> batch_of(schema::Batch::Reader root) {
  ledger::batch b;
  b.term = root.getTerm();
  b.stamped_at = {root.getStampedAtMs()};
  b.proposer = root.getProposer().cStr();
  auto signature = root.getSignature();
  if (signature.size() != b.signature.size())
    return unexpected{malformed{"the batch's signature does not have 64 bytes"}};
  std::copy(signature.begin(), signature.end(), b.signature.begin());
  for (auto proposal : root.getEntries()) {
    auto e = read_entry(proposal);
    b.entries.push_back(e ? *std::move(e) : unread_entry(proposal));
  }
  return b;
}

} // namespace

std::string encode(const ledger::state_entry& s) {
  return walk::encode_as<schema::StateEntry>(s);
}

result<ledger::state_entry, malformed> decode_state(std::string_view canonical) {
  return walk::decode_as<schema::StateEntry, ledger::state_entry>(
    canonical, limits::proposal_bytes
  );
}

result<ledger::record, std::string> read_record(std::string_view canonical) {
  auto r = decode_record(canonical);
  if (!r)
    return unexpected{r.error().text};
  return *std::move(r);
}

result<proposal_head, malformed> head_of_proposal(std::string_view bytes) {
  return walk::read_message<schema::Proposal>(bytes, limits::proposal_bytes, head_of);
}

ledger::entry make_entry(const ledger::record& r) {
  auto canonical = encode(r);
  auto hash = ledger::record_hash(canonical);
  return {.what = r, .canonical = std::move(canonical), .hash = hash, .is_record = true};
}

ledger::entry make_entry(const ledger::state_entry& s) {
  return {.what = s, .canonical = encode(s), .hash = {}, .is_record = false};
}

std::string encode_proposal(const ledger::record& r) {
  return proposal_bytes(make_entry(r));
}

std::string encode_proposal(const ledger::state_entry& s) {
  return proposal_bytes(make_entry(s));
}

result<ledger::entry, malformed> decode_proposal(std::string_view bytes) {
  return walk::read_message<schema::Proposal>(bytes, limits::proposal_bytes, read_entry);
}

std::string encode(const ledger::batch& b) {
  std::size_t content_bytes = 0;
  for (const auto& e : b.entries)
    content_bytes += e.canonical.size();
  capnp::MallocMessageBuilder message{first_segment_words(content_bytes, b.entries.size())};
  auto root = message.initRoot<schema::Batch>();
  root.setTerm(b.term);
  root.setStampedAtMs(b.stamped_at.value);
  root.setProposer(b.proposer);
  root.setSignature(data(b.signature.data(), b.signature.size()));
  auto entries = root.initEntries(static_cast<unsigned>(b.entries.size()));
  for (unsigned i = 0; i < b.entries.size(); ++i)
    put_entry(entries[i], b.entries[i]);
  return walk::canonical_bytes<schema::Batch>(root);
}

result<ledger::batch, malformed> decode_batch(std::string_view bytes) {
  return walk::read_message<schema::Batch>(bytes, limits::batch_frame_bytes, batch_of);
}

} // namespace assay::wire
