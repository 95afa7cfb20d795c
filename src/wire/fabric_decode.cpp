#include "schema/fabric.capnp.h"
#include "src/base/device_limits.hpp"
#include "src/base/peer_limits.hpp"
#include "src/wire/fabric_codec.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <cstring>
#include <optional>

namespace assay::wire {

namespace {

namespace s = schema::fabric;
using namespace assay::fabric;

constexpr std::uint32_t segments_most = 16;
constexpr int nesting_most = 12;

/// Reads fields and remembers the first fault; what it returns after a fault is thrown away.
class field_reader {
public:
  std::optional<decode_fault> fault;

  static std::string text(capnp::Text::Reader t) { return {t.cStr(), t.size()}; }

  /// What is put on record or dialled, so it is kept small.
  std::string text_up_to(std::size_t most, capnp::Text::Reader t) {
    if (t.size() > most)
      note(decode_fault::malformed);
    return text(t);
  }
  std::string name(capnp::Text::Reader t) { return text_up_to(limits::name_bytes, t); }
  std::string address(capnp::Text::Reader t) { return text_up_to(limits::peer_address_bytes, t); }

  static std::string bytes(capnp::Data::Reader d) {
    return {reinterpret_cast<const char*>(d.begin()), d.size()};
  }

  /// Absent data is all zero: a writer of an older schema had no such field.
  std::array<std::uint8_t, 32> bytes32(capnp::Data::Reader d) {
    std::array<std::uint8_t, 32> value{};
    if (d.size() == value.size())
      std::memcpy(value.data(), d.begin(), value.size());
    else if (d.size() != 0)
      note(decode_fault::malformed);
    return value;
  }

  /// A key is never absent.
  public_key key(capnp::Data::Reader d) {
    if (d.size() == 0)
      note(decode_fault::malformed);
    return {bytes32(d)};
  }

  template <class Value, class Wire>
  Value same(Wire wire, Value last) {
    if (static_cast<unsigned>(wire) > static_cast<unsigned>(last))
      note(decode_fault::unknown_kind);
    return static_cast<Value>(wire);
  }

  /// Each element through `read`, unless there are more than the limit.
  template <class List, class Read>
  auto list(List from, Read read, std::size_t most = limits::fabric_items) {
    std::vector<decltype(read(from[0]))> values;
    if (from.size() > most) {
      note(decode_fault::malformed);
      return values;
    }
    values.reserve(from.size());
    for (auto element : from)
      values.push_back(read(element));
    return values;
  }

  std::vector<std::string> texts(capnp::List<capnp::Text>::Reader from) {
    return list(from, [](capnp::Text::Reader t) { return text(t); });
  }

  std::map<std::string, std::string> named(capnp::List<s::NamedText>::Reader from) {
    std::map<std::string, std::string> values;
    auto pairs = list(from, [](s::NamedText::Reader n) {
      return std::pair{text(n.getName()), text(n.getValue())};
    });
    for (auto& [name, value] : pairs)
      values.emplace(std::move(name), std::move(value));
    return values;
  }

  void note(decode_fault what) {
    if (!fault)
      fault = what;
  }
};

catalog::family family(field_reader& in, s::Family f) {
  return in.same(f, catalog::family::plugin);
}

coordinator_at read(field_reader& in, s::CoordinatorAt::Reader m) {
  return {.address = in.address(m.getAddress()), .key = in.key(m.getKey())};
}

std::vector<coordinator_at> read(field_reader& in, capnp::List<s::CoordinatorAt>::Reader from) {
  return in.list(
    from, [&](s::CoordinatorAt::Reader c) { return read(in, c); }, limits::peers
  );
}

// -- agent to coordinator ---------------------------------------------------------------------

hello read(field_reader& in, s::Hello::Reader m) {
  return {
    .protocol = m.getProtocol(),
    .session = m.getSession(),
    .boot_id = in.text(m.getBootId()),
    .host_name = in.text(m.getHostName()),
    .agent_version = in.text(m.getAgentVersion()),
  };
}

device read(field_reader& in, s::Device::Reader m) {
  return {
    .family = family(in, m.getFamily()),
    .id = in.text(m.getId()),
    .name = in.text(m.getName()),
    .memory_bytes = m.getMemoryBytes(),
    .state = in.same(m.getState(), device_state::lost),
    .why = in.text(m.getWhy()),
  };
}

inventory read(field_reader& in, s::Inventory::Reader m) {
  return {
    .devices = in.list(m.getDevices(), [&](s::Device::Reader d) { return read(in, d); }),
    .host_memory_bytes = m.getHostMemoryBytes(),
    .cpus = m.getCpus(),
    .runtimes = in.texts(m.getRuntimes()),
    .fingerprint =
      {
        .sum = {in.bytes32(m.getFingerprintSum())},
        .fields = in.named(m.getFingerprintFields()),
      },
  };
}

std::optional<exit_report> read_exit(field_reader& in, s::ReplicaReport::Reader m) {
  auto meaning = in.text(m.getExitMeaning());
  switch (m.getExit().which()) {
  case s::ReplicaReport::Exit::NONE:
    return std::nullopt;
  case s::ReplicaReport::Exit::CODE:
    return exit_report{false, m.getExit().getCode(), std::move(meaning)};
  case s::ReplicaReport::Exit::SIGNAL:
    return exit_report{true, m.getExit().getSignal(), std::move(meaning)};
  }
  in.note(decode_fault::unknown_kind);
  return std::nullopt;
}

replica_report read(field_reader& in, s::ReplicaReport::Reader m) {
  if (m.getLogTail().size() > limits::log_tail_bytes)
    in.note(decode_fault::malformed);
  return {
    .replica = {in.text(m.getReplica())},
    .implementation = {in.text(m.getImplementation())},
    .generation = m.getGeneration(),
    .phase = in.same(m.getPhase(), replica_phase::failed),
    .address = in.text(m.getAddress()),
    .port = m.getPort(),
    .secret = in.text(m.getSecret()),
    .slots = m.getSlots(),
    .fingerprint = {in.bytes32(m.getFingerprint())},
    .reason = in.text(m.getReason()),
    .exit = read_exit(in, m),
    .log_tail = in.bytes(m.getLogTail()),
    .started_at = {m.getStartedAt()},
    .adopted = m.getAdopted(),
    .engine = in.text(m.getEngine()),
    .loopback = in.text(m.getLoopback()),
    .devices = in.texts(m.getDevices()),
  };
}

artifact_report read(field_reader& in, s::ArtifactReport::Reader m) {
  return {
    .artifact = {in.text(m.getArtifact())},
    .manifest = {in.bytes32(m.getManifest())},
    .state = in.same(m.getState(), artifact_state::unreadable),
    .checked_bytes = m.getCheckedBytes(),
    .total_bytes = m.getTotalBytes(),
    .problem = in.text(m.getProblem()),
  };
}

native_value read_value(field_reader& in, s::NativeSample::Reader m) {
  switch (m.which()) {
  case s::NativeSample::VALUE:
    return m.getValue();
  case s::NativeSample::UNSUPPORTED:
    return unsupported{};
  case s::NativeSample::UNAVAILABLE:
    return unavailable{};
  case s::NativeSample::FAILED:
    return failed{m.getFailed()};
  case s::NativeSample::TEXT:
    return in.text(m.getText());
  }
  in.note(decode_fault::unknown_kind);
  return unavailable{};
}

native_sample read(field_reader& in, s::NativeSample::Reader m) {
  return {
    .family = family(in, m.getFamily()),
    .name = in.text(m.getName()),
    .unit = in.text(m.getUnit()),
    .device = in.text(m.getDevice()),
    .value = read_value(in, m),
    .at = {m.getAt()},
    .age = std::chrono::milliseconds{m.getAgeMs()},
  };
}

device_event read(field_reader& in, s::DeviceEvent::Reader m) {
  return {
    .family = family(in, m.getFamily()),
    .device = in.text(m.getDevice()),
    .name = in.text(m.getName()),
    .code = m.getCode(),
    .text = in.text(m.getText()),
    .at = {m.getAt()},
  };
}

device_events read(field_reader& in, capnp::List<s::DeviceEvent>::Reader from) {
  return {in.list(
    from, [&](s::DeviceEvent::Reader e) { return read(in, e); }, limits::device_events
  )};
}

adopt_offer read(field_reader& in, s::AdoptOffer::Reader m) {
  return {
    .url = in.text(m.getUrl()),
    .model = in.text(m.getModel()),
    .profile = {in.text(m.getProfile())},
    .project = {in.text(m.getProject())},
    .number = m.getNumber(),
  };
}

joining_member read(field_reader& in, s::JoiningMember::Reader m) {
  return {
    .name = in.name(m.getName()),
    .peers = in.address(m.getPeers()),
    .agents = in.address(m.getAgents()),
    .ingress = in.address(m.getIngress()),
    .signing_public = in.name(m.getSigningPublic()),
    .disk = in.name(m.getDisk()),
    .schema_version = m.getSchemaVersion(),
    .clock = {m.getClock()},
  };
}

join read(field_reader& in, s::Join::Reader m) {
  join said{.name = in.text(m.getName()), .key = in.key(m.getKey())};
  if (m.hasMember())
    said.member = read(in, m.getMember());
  return said;
}

agent_message read(field_reader& in, s::FromAgent::Reader m) {
  switch (m.which()) {
  case s::FromAgent::HELLO:
    return read(in, m.getHello());
  case s::FromAgent::HEARTBEAT:
    return agent_heartbeat{};
  case s::FromAgent::INVENTORY:
    return read(in, m.getInventory());
  case s::FromAgent::REPLICA_REPORT:
    return read(in, m.getReplicaReport());
  case s::FromAgent::ARTIFACT_REPORT:
    return read(in, m.getArtifactReport());
  case s::FromAgent::NATIVE_SAMPLES:
    return native_samples{
      in.list(m.getNativeSamples(), [&](s::NativeSample::Reader r) { return read(in, r); })};
  case s::FromAgent::ADOPT_OFFER:
    return read(in, m.getAdoptOffer());
  case s::FromAgent::DEVICE_EVENTS:
    return read(in, m.getDeviceEvents());
  case s::FromAgent::JOIN:
    return read(in, m.getJoin());
  case s::FromAgent::LOG_CHUNK:
    break;
  }
  in.note(decode_fault::unknown_kind);
  return agent_heartbeat{};
}

// -- coordinator to agent ---------------------------------------------------------------------

welcome read(field_reader& in, s::Welcome::Reader m) {
  return {
    .protocol = m.getProtocol(),
    .epoch = m.getEpoch(),
    .session = m.getSession(),
    .heartbeat_every = std::chrono::milliseconds{m.getHeartbeatMs()},
    .identity = {in.text(m.getIdentity())},
    .coordinators = read(in, m.getCoordinators()),
  };
}

catalog::artifact_file read(field_reader& in, s::ArtifactFile::Reader m) {
  return {
    .path = in.text(m.getPath()),
    .bytes = m.getBytes(),
    .sha256 = {in.bytes32(m.getSha256())},
  };
}

artifact_manifest read(field_reader& in, s::ArtifactManifest::Reader m) {
  return {
    .id = {in.text(m.getId())},
    .kind = in.same(m.getKind(), catalog::artifact_kind::adopted),
    .location = in.text(m.getLocation()),
    .files = in.list(m.getFiles(), [&](s::ArtifactFile::Reader f) { return read(in, f); }),
  };
}

start_replica read(field_reader& in, s::StartReplica::Reader m) {
  return {
    .epoch = m.getEpoch(),
    .replica = {in.text(m.getReplica())},
    .implementation = {in.text(m.getImplementation())},
    .model = {in.text(m.getModel())},
    .generation = m.getGeneration(),
    .profile = {in.text(m.getProfile())},
    .profile_text = in.text(m.getProfileText()),
    .artifact = read(in, m.getArtifact()),
    .slots = m.getSlots(),
    .limits =
      {
        .context_tokens = m.getContextTokens(),
        .input_tokens = m.getInputTokens(),
        .output_tokens = m.getOutputTokens(),
        .body_bytes = m.getBodyBytes(),
      },
    .args = in.named(m.getArgs()),
    .devices = in.texts(m.getDevices()),
    .plaintext_accepted = m.getPlaintextAccepted(),
  };
}

stop_replica read(field_reader& in, s::StopReplica::Reader m) {
  return {
    .epoch = m.getEpoch(),
    .replica = {in.text(m.getReplica())},
    .generation = m.getGeneration(),
    .reason = in.text(m.getReason()),
    .grace = std::chrono::milliseconds{m.getGraceMs()},
  };
}

adopt_replica read(field_reader& in, s::AdoptReplica::Reader m) {
  return {
    .epoch = m.getEpoch(),
    .replica = {in.text(m.getReplica())},
    .implementation = {in.text(m.getImplementation())},
    .model = {in.text(m.getModel())},
    .generation = m.getGeneration(),
    .profile = {in.text(m.getProfile())},
    .profile_text = in.text(m.getProfileText()),
    .url = in.text(m.getUrl()),
    .slots = m.getSlots(),
  };
}

verify_artifact read(field_reader& in, s::VerifyArtifact::Reader m) {
  return {.epoch = m.getEpoch(), .artifact = read(in, m.getArtifact())};
}

drain_host read(field_reader& in, s::DrainHost::Reader m) {
  return {
    .epoch = m.getEpoch(),
    .on = m.getOn(),
    .reason = in.text(m.getReason()),
    .decided_at = {m.getDecidedAt()}};
}

adopt_outcome read(field_reader& in, s::AdoptOutcome::Reader m) {
  return {
    .number = m.getNumber(),
    .implementation = {in.text(m.getImplementation())},
    .what = in.text(m.getWhat()),
    .next = in.text(m.getNext()),
  };
}

/// A session that a newer coordinator closes is closed, whatever its reason.
closing_reason read_reason(s::ClosingReason reason) {
  auto known = static_cast<unsigned>(reason) <= static_cast<unsigned>(closing_reason::protocol);
  return known ? static_cast<closing_reason>(reason) : closing_reason::shutting_down;
}

closing read(field_reader& in, s::Closing::Reader m) {
  closing said{.reason = read_reason(m.getReason()), .text = in.text(m.getText())};
  if (!m.hasElsewhere())
    return said;
  auto elsewhere = m.getElsewhere();
  said.reason = closing_reason::not_leader;
  if (elsewhere.hasLeader())
    said.leader = read(in, elsewhere.getLeader());
  said.coordinators = read(in, elsewhere.getCoordinators());
  return said;
}

cluster_member read(field_reader& in, s::ClusterMember::Reader m) {
  return {
    .node = m.getNode(),
    .name = in.name(m.getName()),
    .peers = in.address(m.getPeers()),
    .key = in.key(m.getKey()),
    .disk = in.name(m.getDisk()),
    .votes = m.getVotes(),
  };
}

joined_cluster read(field_reader& in, s::JoinedCluster::Reader m) {
  joined_cluster cluster{.name = in.name(m.getName()), .node = m.getNode()};
  auto id = m.getCluster();
  if (id.size() == cluster.cluster.bytes.size())
    std::memcpy(cluster.cluster.bytes.data(), id.begin(), id.size());
  else
    in.note(decode_fault::malformed);
  auto member = [&](s::ClusterMember::Reader one) { return read(in, one); };
  cluster.members = in.list(m.getMembers(), member, limits::peers);
  return cluster;
}

joined read(field_reader& in, s::Joined::Reader m) {
  joined answer{
    .accepted = m.getAccepted(),
    .identity = {in.text(m.getIdentity())},
    .text = in.text(m.getText()),
    .coordinators = read(in, m.getCoordinators()),
  };
  if (m.hasLeader())
    answer.leader = read(in, m.getLeader());
  if (m.hasCluster())
    answer.cluster = read(in, m.getCluster());
  return answer;
}

coordinator_message read(field_reader& in, s::FromCoordinator::Reader m) {
  switch (m.which()) {
  case s::FromCoordinator::WELCOME:
    return read(in, m.getWelcome());
  case s::FromCoordinator::HEARTBEAT:
    return coordinator_heartbeat{m.getHeartbeat()};
  case s::FromCoordinator::START_REPLICA:
    return read(in, m.getStartReplica());
  case s::FromCoordinator::STOP_REPLICA:
    return read(in, m.getStopReplica());
  case s::FromCoordinator::ADOPT_REPLICA:
    return read(in, m.getAdoptReplica());
  case s::FromCoordinator::VERIFY_ARTIFACT:
    return read(in, m.getVerifyArtifact());
  case s::FromCoordinator::DRAIN_HOST:
    return read(in, m.getDrainHost());
  case s::FromCoordinator::CLOSING:
    return read(in, m.getClosing());
  case s::FromCoordinator::JOINED:
    return read(in, m.getJoined());
  case s::FromCoordinator::ADOPT_OUTCOME:
    return read(in, m.getAdoptOutcome());
  case s::FromCoordinator::FORGET_REPLICA:
  case s::FromCoordinator::WANT_LOG:
    break;
  }
  in.note(decode_fault::unknown_kind);
  return coordinator_heartbeat{};
}

// -- framing ----------------------------------------------------------------------------------

bool has_few_segments(std::span<const std::byte> bytes) {
  std::uint32_t others = 0; // The table begins with the number of segments after the first.
  std::memcpy(&others, bytes.data(), sizeof others);
  return others < segments_most;
}

template <class Root, class Message>
Message parse(field_reader& in, kj::ArrayPtr<const capnp::word> words) {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = words.size() * 2 + 64;
  options.nestingLimit = nesting_most;
  capnp::FlatArrayMessageReader message{words, options};
  return read(in, message.getRoot<Root>());
}

template <class Root, class Message>
result<Message, decode_fault> decode(std::span<const std::byte> bytes) {
  if (bytes.size() > limits::message_bytes)
    return unexpected{decode_fault::too_large};
  if (bytes.size() < sizeof(capnp::word) || bytes.size() % sizeof(capnp::word) != 0)
    return unexpected{decode_fault::malformed};
  if (!has_few_segments(bytes))
    return unexpected{decode_fault::malformed};
  // Frames are not aligned, the reader wants words.
  auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
  std::memcpy(words.begin(), bytes.data(), bytes.size());
  field_reader in;
  std::optional<Message> message;
  if (kj::runCatchingExceptions([&] { message = parse<Root, Message>(in, words); }) != nullptr)
    return unexpected{decode_fault::malformed};
  if (in.fault)
    return unexpected{*in.fault};
  return std::move(*message);
}

} // namespace

result<agent_message, decode_fault> decode_agent_message(std::span<const std::byte> bytes) {
  return decode<s::FromAgent, agent_message>(bytes);
}

result<coordinator_message, decode_fault>
decode_coordinator_message(std::span<const std::byte> bytes) {
  return decode<s::FromCoordinator, coordinator_message>(bytes);
}

} // namespace assay::wire
