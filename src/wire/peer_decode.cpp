#include "schema/peers.capnp.h"
#include "src/base/peer_limits.hpp"
#include "src/consensus/configuration.hpp"
#include "src/wire/peer_checks.hpp"
#include "src/wire/peer_codec.hpp"
#include "src/wire/peer_reader.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <cstring>
#include <optional>

namespace assay::wire {

namespace {

namespace s = schema::peers;

constexpr std::uint32_t segments_most = 16;
constexpr int nesting_most = 8;

// -- consensus --------------------------------------------------------------------------------

consensus::request_vote read(reader&, s::RequestVote::Reader m) {
  return {
    .candidate = m.getCandidate(),
    .last_index = m.getLastIndex(),
    .last_term = m.getLastTerm(),
    .disrupts_leader = m.getDisruptsLeader(),
    .is_pre_vote = m.getIsPreVote(),
  };
}

consensus::request_vote_result read(reader&, s::RequestVoteResult::Reader m) {
  return {
    .is_granted = m.getIsGranted(),
    .is_pre_vote = m.getIsPreVote(),
    .features = m.getFeatures(),
    .capacity = m.getCapacity(),
  };
}

consensus::append_entries read(reader& in, s::AppendEntries::Reader m) {
  consensus::append_entries out{
    .previous_index = m.getPreviousIndex(),
    .previous_term = m.getPreviousTerm(),
    .commit = m.getCommit(),
  };
  auto entries = m.getEntries();
  if (!in.fits("append_entries.entries", entries.size(), limits::peer_entries))
    return out;
  out.count = entries.size();
  out.entries.reserve(entries.size());
  for (auto e : entries) {
    auto kind = static_cast<consensus::entry_kind>(e.getKind());
    out.entries.push_back({e.getTerm(), kind, in.bytes(e.getBytes())});
  }
  return out;
}

consensus::append_entries_result read(reader&, s::AppendEntriesResult::Reader m) {
  return {
    .rejected = m.getRejected(),
    .last_index = m.getLastIndex(),
    .features = m.getFeatures(),
    .capacity = m.getCapacity(),
  };
}

consensus::install_snapshot read(reader& in, s::InstallSnapshot::Reader m) {
  consensus::install_snapshot out;
  out.mark.index = m.getIndex();
  out.mark.term = m.getTerm();
  out.mark.configuration_index = m.getConfigurationIndex();
  auto members = consensus::decode_configuration(in.bytes(m.getConfiguration()));
  if (members)
    out.mark.configuration = *std::move(members);
  else
    in.note(damage(
      "install_snapshot.configuration", std::string{members.error()}, "it holds 1 to 64 members"
    ));
  return out;
}

consensus::timeout_now read(reader&, s::TimeoutNow::Reader m) {
  return {.last_index = m.getLastIndex(), .last_term = m.getLastTerm()};
}

consensus::message_body read_body(reader& in, s::Consensus::Reader m) {
  switch (m.which()) {
  case s::Consensus::REQUEST_VOTE:
    return read(in, m.getRequestVote());
  case s::Consensus::REQUEST_VOTE_RESULT:
    return read(in, m.getRequestVoteResult());
  case s::Consensus::APPEND_ENTRIES:
    return read(in, m.getAppendEntries());
  case s::Consensus::APPEND_ENTRIES_RESULT:
    return read(in, m.getAppendEntriesResult());
  case s::Consensus::INSTALL_SNAPSHOT:
    return read(in, m.getInstallSnapshot());
  case s::Consensus::TIMEOUT_NOW:
    return read(in, m.getTimeoutNow());
  }
  in.note(newer("consensus"));
  return {};
}

consensus::message read(reader& in, s::Consensus::Reader m) {
  consensus::message out{m.getFrom(), m.getTo(), m.getRun(), m.getSequence(), read_body(in, m)};
  std::visit(
    [&](auto& body) {
      body.version = m.getVersion();
      body.term = m.getTerm();
    },
    out.body
  );
  return out;
}

// -- the others -------------------------------------------------------------------------------

peers::hello read(reader& in, s::Hello::Reader m) {
  peers::hello out{
    .protocol = m.getProtocol(),
    .session = m.getSession(),
    .lane = static_cast<peers::lane>(m.getLane()),
    .node = m.getNode(),
    .disk = in.text(m.getDisk()),
    .schema_version = m.getSchemaVersion(),
  };
  in.copy("hello.cluster", m.getCluster(), out.cluster.bytes);
  // A number above 255 must not become a lane by losing its upper bits.
  if (static_cast<unsigned>(m.getLane()) >= peers::lanes)
    in.note(newer("hello.lane"));
  return out;
}

peers::closing read(reader& in, s::Closing::Reader m) {
  if (static_cast<unsigned>(m.getReason()) > static_cast<unsigned>(s::ClosingReason::OTHER_DISK))
    in.note(newer("closing.reason"));
  return {static_cast<peers::closing_reason>(m.getReason()), in.text(m.getText())};
}

peers::state_request read(reader& in, s::StateRequest::Reader m) {
  return {
    .from = m.getFrom(),
    .to = m.getTo(),
    .attempt = m.getAttempt(),
    .at_least = m.getAtLeast(),
    .after = in.bytes(m.getAfter()),
  };
}

peers::state_page read(reader& in, s::StatePage::Reader m) {
  peers::state_page out{
    .from = m.getFrom(),
    .to = m.getTo(),
    .attempt = m.getAttempt(),
    .after = in.bytes(m.getAfter()),
    .is_refused = m.getIsRefused(),
    .is_last = m.getIsLast(),
    .index = m.getIndex(),
    .term = m.getTerm(),
  };
  in.copy("state_page.root", m.getRoot(), out.root.bytes);
  auto rows = m.getRows();
  if (!in.fits("state_page.rows", rows.size(), limits::peer_page_rows))
    return out;
  out.rows.reserve(rows.size());
  for (auto row : rows)
    out.rows.push_back({in.bytes(row.getKey()), in.bytes(row.getValue())});
  return out;
}

peers::message read(reader& in, s::PeerMessage::Reader m) {
  switch (m.which()) {
  case s::PeerMessage::HELLO:
    return read(in, m.getHello());
  case s::PeerMessage::WELCOME:
    return peers::welcome{m.getWelcome()};
  case s::PeerMessage::BEAT:
    return peers::beat{};
  case s::PeerMessage::CLOSING:
    return read(in, m.getClosing());
  case s::PeerMessage::CONSENSUS:
    return read(in, m.getConsensus());
  case s::PeerMessage::STATE_REQUEST:
    return read(in, m.getStateRequest());
  case s::PeerMessage::STATE_PAGE:
    return read(in, m.getStatePage());
  default:
    auto blob = read_blobs(in, m);
    return blob ? *std::move(blob) : read_service(in, m);
  }
}

// -- framing ----------------------------------------------------------------------------------

std::optional<problem> refuse_frame(std::span<const std::byte> bytes) {
  auto size = std::to_string(bytes.size());
  if (bytes.size() > limits::peer_frame_bytes)
    return damage(
      "peer message",
      "has " + size + " bytes",
      "allowed are " + std::to_string(limits::peer_frame_bytes)
    );
  if (bytes.size() < sizeof(capnp::word) || bytes.size() % sizeof(capnp::word) != 0)
    return damage("peer message", "has " + size + " bytes", "it is whole words of 8 bytes");
  std::uint32_t others = 0; // The table begins with the number of segments after the first.
  std::memcpy(&others, bytes.data(), sizeof others);
  if (others >= segments_most)
    return damage("peer message", "has too many segments", "allowed are 16");
  return {};
}

peers::message parse(reader& in, kj::ArrayPtr<const capnp::word> words) {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = words.size() * 2 + 64;
  options.nestingLimit = nesting_most;
  capnp::FlatArrayMessageReader message{words, options};
  return read(in, message.getRoot<s::PeerMessage>());
}

} // namespace

result<peers::message, problem> decode_peer_message(std::span<const std::byte> bytes) {
  if (auto wrong = refuse_frame(bytes))
    return unexpected{*std::move(wrong)};
  // Frames are not aligned, the reader wants words.
  auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
  std::memcpy(words.begin(), bytes.data(), bytes.size());
  reader in;
  std::optional<peers::message> message;
  KJ_IF_MAYBE (why, kj::runCatchingExceptions([&] { message = parse(in, words); })) {
    return unexpected{damage(
      "peer message",
      std::string{"cannot be read: "} + why->getDescription().cStr(),
      "it is one message of schema/peers.capnp"
    )};
  }
  if (in.fault)
    return unexpected{*std::move(in.fault)};
  if (auto wrong = peers::refuse(*message))
    return unexpected{*std::move(wrong)};
  return *std::move(message);
}

} // namespace assay::wire
