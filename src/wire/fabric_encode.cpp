#include "schema/fabric.capnp.h"
#include "src/base/overloaded.hpp"
#include "src/wire/fabric_codec.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <algorithm>
#include <limits>

namespace assay::wire {

namespace {

namespace s = schema::fabric;
using namespace assay::fabric;

// The enums of the schema and of the values list the same names in the same order;
// tests/unit/wire/fabric_codec_test.cpp holds them together.
template <class Wire, class Value>
Wire same(Value value) {
  return static_cast<Wire>(value);
}

capnp::Text::Reader text(const std::string& t) {
  return {t.c_str(), t.size()};
}

capnp::Data::Reader data(const std::string& bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}

capnp::Data::Reader data(const std::array<std::uint8_t, 32>& bytes) {
  return {bytes.data(), bytes.size()};
}

std::uint32_t ms32(std::chrono::milliseconds time) {
  auto most = std::int64_t{std::numeric_limits<std::uint32_t>::max()};
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(time.count(), 0, most));
}

unsigned count(std::size_t size) {
  return static_cast<unsigned>(size);
}

void put(capnp::List<capnp::Text>::Builder to, const std::vector<std::string>& from) {
  for (unsigned i = 0; i < to.size(); ++i)
    to.set(i, text(from[i]));
}

void put(capnp::List<s::NamedText>::Builder to, const std::map<std::string, std::string>& from) {
  unsigned i = 0;
  for (const auto& [name, value] : from) {
    to[i].setName(text(name));
    to[i++].setValue(text(value));
  }
}

void put(s::CoordinatorAt::Builder b, const coordinator_at& c) {
  b.setAddress(text(c.address));
  b.setKey(data(c.key.bytes));
}

void put(
  capnp::List<s::CoordinatorAt>::Builder to, const std::vector<coordinator_at>& coordinators
) {
  for (unsigned i = 0; i < to.size(); ++i)
    put(to[i], coordinators[i]);
}

// -- agent to coordinator ---------------------------------------------------------------------

void put(s::FromAgent::Builder to, const hello& m) {
  auto b = to.initHello();
  b.setProtocol(m.protocol);
  b.setSession(m.session);
  b.setBootId(text(m.boot_id));
  b.setHostName(text(m.host_name));
  b.setAgentVersion(text(m.agent_version));
}

void put(s::FromAgent::Builder to, const agent_heartbeat&) {
  to.setHeartbeat();
}

void put(s::Device::Builder b, const device& d) {
  b.setFamily(same<s::Family>(d.family));
  b.setId(text(d.id));
  b.setName(text(d.name));
  b.setMemoryBytes(d.memory_bytes);
  b.setState(same<s::DeviceState>(d.state));
  b.setWhy(text(d.why));
}

void put(s::FromAgent::Builder to, const inventory& m) {
  auto b = to.initInventory();
  auto devices = b.initDevices(count(m.devices.size()));
  for (unsigned i = 0; i < devices.size(); ++i)
    put(devices[i], m.devices[i]);
  b.setHostMemoryBytes(m.host_memory_bytes);
  b.setCpus(m.cpus);
  put(b.initRuntimes(count(m.runtimes.size())), m.runtimes);
  b.setFingerprintSum(data(m.fingerprint.sum.bytes));
  put(b.initFingerprintFields(count(m.fingerprint.fields.size())), m.fingerprint.fields);
}

void put(s::ReplicaReport::Builder b, const exit_report& e) {
  if (e.by_signal)
    b.getExit().setSignal(e.number);
  else
    b.getExit().setCode(e.number);
  b.setExitMeaning(text(e.meaning));
}

void put(s::FromAgent::Builder to, const replica_report& m) {
  auto b = to.initReplicaReport();
  b.setReplica(text(m.replica.value));
  b.setImplementation(text(m.implementation.value));
  b.setGeneration(m.generation);
  b.setPhase(same<s::Phase>(m.phase));
  b.setAddress(text(m.address));
  b.setPort(m.port);
  b.setSecret(text(m.secret));
  b.setSlots(m.slots);
  b.setFingerprint(data(m.fingerprint.bytes));
  b.setReason(text(m.reason));
  if (m.exit)
    put(b, *m.exit);
  b.setLogTail(data(m.log_tail));
  b.setStartedAt(m.started_at.value);
  b.setAdopted(m.adopted);
  b.setLoopback(text(m.loopback));
  b.setEngine(text(m.engine));
  put(b.initDevices(count(m.devices.size())), m.devices);
}

void put(s::FromAgent::Builder to, const artifact_report& m) {
  auto b = to.initArtifactReport();
  b.setArtifact(text(m.artifact.value));
  b.setManifest(data(m.manifest.bytes));
  b.setState(same<s::ArtifactState>(m.state));
  b.setCheckedBytes(m.checked_bytes);
  b.setTotalBytes(m.total_bytes);
  b.setProblem(text(m.problem));
}

void put(s::NativeSample::Builder b, const native_sample& m) {
  b.setFamily(same<s::Family>(m.family));
  b.setName(text(m.name));
  b.setUnit(text(m.unit));
  b.setDevice(text(m.device));
  std::visit(
    overloaded{
      [&](double value) { b.setValue(value); },
      [&](unsupported) { b.setUnsupported(); },
      [&](unavailable) { b.setUnavailable(); },
      [&](failed f) { b.setFailed(f.code); },
      [&](const std::string& value) { b.setText(text(value)); },
    },
    m.value
  );
  b.setAt(m.at.value);
  b.setAgeMs(m.age.count());
}

void put(s::FromAgent::Builder to, const native_samples& m) {
  auto b = to.initNativeSamples(count(m.samples.size()));
  for (unsigned i = 0; i < b.size(); ++i)
    put(b[i], m.samples[i]);
}

void put(s::DeviceEvent::Builder b, const device_event& e) {
  b.setFamily(same<s::Family>(e.family));
  b.setDevice(text(e.device));
  b.setName(text(e.name));
  b.setCode(e.code);
  b.setText(text(e.text));
  b.setAt(e.at.value);
}

void put(s::FromAgent::Builder to, const device_events& m) {
  auto events = to.initDeviceEvents(count(m.events.size()));
  for (unsigned i = 0; i < events.size(); ++i)
    put(events[i], m.events[i]);
}

void put(s::FromAgent::Builder to, const adopt_offer& m) {
  auto b = to.initAdoptOffer();
  b.setUrl(text(m.url));
  b.setModel(text(m.model));
  b.setProfile(text(m.profile.value));
  b.setProject(text(m.project.value));
  b.setNumber(m.number);
}

void put(s::JoiningMember::Builder b, const joining_member& m) {
  b.setName(text(m.name));
  b.setPeers(text(m.peers));
  b.setAgents(text(m.agents));
  b.setIngress(text(m.ingress));
  b.setSigningPublic(text(m.signing_public));
  b.setDisk(text(m.disk));
  b.setSchemaVersion(m.schema_version);
  b.setClock(m.clock.value);
}

void put(s::FromAgent::Builder to, const join& m) {
  auto b = to.initJoin();
  b.setName(text(m.name));
  b.setKey(data(m.key.bytes));
  if (m.member)
    put(b.initMember(), *m.member);
}

// -- coordinator to agent ---------------------------------------------------------------------

void put(s::FromCoordinator::Builder to, const welcome& m) {
  auto b = to.initWelcome();
  b.setProtocol(m.protocol);
  b.setEpoch(m.epoch);
  b.setSession(m.session);
  b.setHeartbeatMs(ms32(m.heartbeat_every));
  b.setIdentity(text(m.identity.value));
  put(b.initCoordinators(count(m.coordinators.size())), m.coordinators);
}

void put(s::FromCoordinator::Builder to, const coordinator_heartbeat& m) {
  to.setHeartbeat(m.epoch);
}

void put(s::ArtifactFile::Builder b, const catalog::artifact_file& f) {
  b.setPath(text(f.path));
  b.setBytes(f.bytes);
  b.setSha256(data(f.sha256.bytes));
}

void put(s::ArtifactManifest::Builder b, const artifact_manifest& m) {
  b.setId(text(m.id.value));
  b.setKind(same<s::ArtifactKind>(m.kind));
  b.setLocation(text(m.location));
  auto files = b.initFiles(count(m.files.size()));
  for (unsigned i = 0; i < files.size(); ++i)
    put(files[i], m.files[i]);
}

void put(s::FromCoordinator::Builder to, const start_replica& m) {
  auto b = to.initStartReplica();
  b.setEpoch(m.epoch);
  b.setReplica(text(m.replica.value));
  b.setImplementation(text(m.implementation.value));
  b.setModel(text(m.model.value));
  b.setGeneration(m.generation);
  b.setProfile(text(m.profile.value));
  b.setProfileText(text(m.profile_text));
  put(b.initArtifact(), m.artifact);
  b.setSlots(m.slots);
  b.setContextTokens(m.limits.context_tokens);
  b.setInputTokens(m.limits.input_tokens);
  b.setOutputTokens(m.limits.output_tokens);
  b.setBodyBytes(m.limits.body_bytes);
  put(b.initArgs(count(m.args.size())), m.args);
  put(b.initDevices(count(m.devices.size())), m.devices);
  b.setPlaintextAccepted(m.plaintext_accepted);
}

void put(s::FromCoordinator::Builder to, const stop_replica& m) {
  auto b = to.initStopReplica();
  b.setEpoch(m.epoch);
  b.setReplica(text(m.replica.value));
  b.setGeneration(m.generation);
  b.setReason(text(m.reason));
  b.setGraceMs(ms32(m.grace));
}

void put(s::FromCoordinator::Builder to, const adopt_replica& m) {
  auto b = to.initAdoptReplica();
  b.setEpoch(m.epoch);
  b.setReplica(text(m.replica.value));
  b.setImplementation(text(m.implementation.value));
  b.setModel(text(m.model.value));
  b.setGeneration(m.generation);
  b.setProfile(text(m.profile.value));
  b.setProfileText(text(m.profile_text));
  b.setUrl(text(m.url));
  b.setSlots(m.slots);
}

void put(s::FromCoordinator::Builder to, const verify_artifact& m) {
  auto b = to.initVerifyArtifact();
  b.setEpoch(m.epoch);
  put(b.initArtifact(), m.artifact);
}

void put(s::FromCoordinator::Builder to, const drain_host& m) {
  auto b = to.initDrainHost();
  b.setEpoch(m.epoch);
  b.setOn(m.on);
  b.setReason(text(m.reason));
  b.setDecidedAt(m.decided_at.value);
}

void put(s::FromCoordinator::Builder to, const adopt_outcome& m) {
  auto b = to.initAdoptOutcome();
  b.setNumber(m.number);
  b.setImplementation(text(m.implementation.value));
  b.setWhat(text(m.what));
  b.setNext(text(m.next));
}

void put(s::FromCoordinator::Builder to, const closing& m) {
  auto b = to.initClosing();
  b.setText(text(m.text));
  if (m.reason != closing_reason::not_leader)
    return b.setReason(same<s::ClosingReason>(m.reason));
  // An older agent reads a coordinator that ends, and dials again.
  b.setReason(s::ClosingReason::SHUTTING_DOWN);
  auto elsewhere = b.initElsewhere();
  if (m.leader)
    put(elsewhere.initLeader(), *m.leader);
  put(elsewhere.initCoordinators(count(m.coordinators.size())), m.coordinators);
}

void put(s::ClusterMember::Builder b, const cluster_member& m) {
  b.setNode(m.node);
  b.setName(text(m.name));
  b.setPeers(text(m.peers));
  b.setKey(data(m.key.bytes));
  b.setDisk(text(m.disk));
  b.setVotes(m.votes);
}

void put(s::JoinedCluster::Builder b, const joined_cluster& m) {
  b.setCluster({m.cluster.bytes.data(), m.cluster.bytes.size()});
  b.setName(text(m.name));
  b.setNode(m.node);
  auto members = b.initMembers(count(m.members.size()));
  for (unsigned i = 0; i < members.size(); ++i)
    put(members[i], m.members[i]);
}

void put(s::FromCoordinator::Builder to, const joined& m) {
  auto b = to.initJoined();
  b.setAccepted(m.accepted);
  b.setIdentity(text(m.identity.value));
  b.setText(text(m.text));
  if (m.leader)
    put(b.initLeader(), *m.leader);
  put(b.initCoordinators(count(m.coordinators.size())), m.coordinators);
  if (m.cluster)
    put(b.initCluster(), *m.cluster);
}

template <class Root, class Message>
std::string flatten(const Message& message) {
  capnp::MallocMessageBuilder builder;
  auto root = builder.initRoot<Root>();
  std::visit([&](const auto& m) { put(root, m); }, message);
  auto words = capnp::messageToFlatArray(builder);
  auto bytes = words.asChars();
  return {bytes.begin(), bytes.size()};
}

} // namespace

std::string encode(const agent_message& message) {
  return flatten<s::FromAgent>(message);
}

std::string encode(const coordinator_message& message) {
  return flatten<s::FromCoordinator>(message);
}

} // namespace assay::wire
