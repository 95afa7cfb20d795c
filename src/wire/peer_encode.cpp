#include "schema/peers.capnp.h"
#include "src/base/overloaded.hpp"
#include "src/base/peer_limits.hpp"
#include "src/consensus/configuration.hpp"
#include "src/wire/first_segment.hpp"
#include "src/wire/peer_checks.hpp"
#include "src/wire/peer_codec.hpp"
#include "src/wire/peer_writer.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>

namespace assay::wire {

namespace {

namespace s = schema::peers;

// -- consensus --------------------------------------------------------------------------------

void put(s::Consensus::Builder to, const consensus::request_vote& m) {
  auto b = to.initRequestVote();
  b.setCandidate(m.candidate);
  b.setLastIndex(m.last_index);
  b.setLastTerm(m.last_term);
  b.setDisruptsLeader(m.disrupts_leader);
  b.setIsPreVote(m.is_pre_vote);
}

void put(s::Consensus::Builder to, const consensus::request_vote_result& m) {
  auto b = to.initRequestVoteResult();
  b.setIsGranted(m.is_granted);
  b.setIsPreVote(m.is_pre_vote);
  b.setFeatures(m.features);
  b.setCapacity(m.capacity);
}

void put(s::Consensus::Builder to, const consensus::append_entries& m) {
  auto b = to.initAppendEntries();
  b.setPreviousIndex(m.previous_index);
  b.setPreviousTerm(m.previous_term);
  b.setCommit(m.commit);
  auto entries = b.initEntries(count(m.entries.size()));
  for (unsigned i = 0; i < entries.size(); ++i) {
    entries[i].setTerm(m.entries[i].term);
    entries[i].setKind(static_cast<std::uint8_t>(m.entries[i].kind));
    entries[i].setBytes(as_data(m.entries[i].bytes));
  }
}

void put(s::Consensus::Builder to, const consensus::append_entries_result& m) {
  auto b = to.initAppendEntriesResult();
  b.setRejected(m.rejected);
  b.setLastIndex(m.last_index);
  b.setFeatures(m.features);
  b.setCapacity(m.capacity);
}

void put(s::Consensus::Builder to, const consensus::install_snapshot& m) {
  auto b = to.initInstallSnapshot();
  b.setIndex(m.mark.index);
  b.setTerm(m.mark.term);
  b.setConfigurationIndex(m.mark.configuration_index);
  b.setConfiguration(as_data(consensus::encode(m.mark.configuration)));
}

void put(s::Consensus::Builder to, const consensus::timeout_now& m) {
  auto b = to.initTimeoutNow();
  b.setLastIndex(m.last_index);
  b.setLastTerm(m.last_term);
}

// -- the others -------------------------------------------------------------------------------

void put(s::PeerMessage::Builder to, const consensus::message& m) {
  auto b = to.initConsensus();
  b.setFrom(m.from);
  b.setTo(m.to);
  b.setRun(m.run);
  b.setSequence(m.sequence);
  std::visit(
    [&](const auto& body) {
      b.setVersion(body.version);
      b.setTerm(body.term);
      put(b, body);
    },
    m.body
  );
}

void put(s::PeerMessage::Builder to, const peers::hello& m) {
  auto b = to.initHello();
  b.setProtocol(m.protocol);
  b.setSession(m.session);
  b.setLane(static_cast<s::Lane>(m.lane));
  b.setCluster({m.cluster.bytes.data(), m.cluster.bytes.size()});
  b.setNode(m.node);
  b.setDisk(text(m.disk));
  b.setSchemaVersion(m.schema_version);
}

void put(s::PeerMessage::Builder to, const peers::welcome& m) {
  to.setWelcome(m.session);
}

void put(s::PeerMessage::Builder to, const peers::beat&) {
  to.setBeat();
}

void put(s::PeerMessage::Builder to, const peers::closing& m) {
  auto b = to.initClosing();
  b.setReason(static_cast<s::ClosingReason>(m.reason));
  b.setText(text(m.text));
}

void put(s::PeerMessage::Builder to, const peers::state_request& m) {
  auto b = to.initStateRequest();
  b.setFrom(m.from);
  b.setTo(m.to);
  b.setAttempt(m.attempt);
  b.setAtLeast(m.at_least);
  b.setAfter(as_data(m.after));
}

void put(s::PeerMessage::Builder to, const peers::state_page& m) {
  auto b = to.initStatePage();
  b.setFrom(m.from);
  b.setTo(m.to);
  b.setAttempt(m.attempt);
  b.setAfter(as_data(m.after));
  b.setIsRefused(m.is_refused);
  auto rows = b.initRows(count(m.rows.size()));
  for (unsigned i = 0; i < rows.size(); ++i) {
    rows[i].setKey(as_data(m.rows[i].key));
    rows[i].setValue(as_data(m.rows[i].value));
  }
  b.setIsLast(m.is_last);
  b.setIndex(m.index);
  b.setTerm(m.term);
  b.setRoot({m.root.bytes.data(), m.root.bytes.size()});
}

unsigned first_words(const consensus::message& m) {
  const auto* probe = std::get_if<consensus::append_entries>(&m.body);
  if (probe == nullptr)
    return first_segment_words(0, 1);
  std::size_t content_bytes = 0;
  for (const auto& e : probe->entries)
    content_bytes += e.bytes.size();
  return first_segment_words(content_bytes, probe->entries.size() + 1);
}

unsigned first_words(const peers::state_page& m) {
  std::size_t content_bytes = 0;
  for (const auto& row : m.rows)
    content_bytes += row.key.size() + row.value.size();
  return first_segment_words(content_bytes, 2 * m.rows.size() + 2);
}

/// The others are seldom.
unsigned first_words(const auto&) {
  return capnp::SUGGESTED_FIRST_SEGMENT_WORDS;
}

} // namespace

result<std::string, problem> encode(const peers::message& what) {
  if (auto wrong = peers::refuse(what))
    return unexpected{*std::move(wrong)};
  capnp::MallocMessageBuilder message{
    std::visit([](const auto& m) { return first_words(m); }, what)};
  auto root = message.initRoot<s::PeerMessage>();
  std::visit([&](const auto& m) { put(root, m); }, what);
  auto size = capnp::computeSerializedSizeInWords(message) * sizeof(capnp::word);
  if (size > limits::peer_frame_bytes)
    return unexpected{problem{
      problem_kind::exhausted,
      "the message has " + std::to_string(size) + " bytes",
      "peer message",
      "allowed are " + std::to_string(limits::peer_frame_bytes) + "; send fewer rows or entries",
    }};
  auto words = capnp::messageToFlatArray(message);
  auto bytes = words.asBytes();
  return std::string{reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

} // namespace assay::wire
