#pragma once
// Messages between agents and coordinators for tests of their codec.

#include "src/wire/fabric_messages.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace assay::fabric::test {

using namespace std::chrono_literals;

inline digest a_digest(std::uint8_t fill) {
  digest d;
  d.bytes.fill(fill);
  return d;
}

inline fabric::inventory an_inventory() {
  return {
    .devices = {{catalog::family::nvidia, "GPU-8f1c", "H100", 80'000'000'000}},
    .host_memory_bytes = 1ull << 40,
    .cpus = 96,
    .runtimes = {"llama-server", "vllm"},
    .fingerprint = {a_digest(1), {{"kernel", "6.1.0"}, {"os", "Debian 12"}}},
  };
}

/// One of an agent that says whether its devices are there for work.
inline fabric::inventory an_inventory_of_states() {
  auto all = an_inventory();
  auto add = [&](std::string id, device_state state, std::string why) {
    all.devices.push_back({catalog::family::nvidia, std::move(id), "H100", 1, state, std::move(why)}
    );
  };
  add("GPU-1", device_state::withheld, "pid 7 holds 3 bytes");
  add("GPU-2", device_state::sick, "Xid 79");
  add("0000:65:00.0", device_state::lost, "NVML 15");
  return all;
}

inline fabric::replica_report a_report() {
  return {
    .replica = {"m/p/a/0@h"},
    .implementation = {"m/p/a"},
    .generation = 7,
    .phase = replica_phase::failed,
    .address = "127.0.0.1",
    .port = 7200,
    .secret = "s3cret",
    .slots = 4,
    .fingerprint = a_digest(2),
    .reason = "ended while loading",
    .exit = exit_report{true, 9, "killed: out of memory"},
    .log_tail = std::string("tail\0with any byte\xff", 20),
    .started_at = {1'764'000'000'000},
    .adopted = true,
  };
}

/// One of an agent that says which loopback it has.
inline fabric::replica_report a_report_of_host() {
  auto report = a_report();
  report.loopback = "0f5a/4026531840";
  report.engine = "b4567";
  return report;
}

/// One of an agent that says on which devices it is.
inline fabric::replica_report a_report_of_devices() {
  auto report = a_report_of_host();
  report.devices = {"GPU-8f1c", "GPU-9a00"};
  return report;
}

inline fabric::artifact_manifest a_manifest() {
  return {
    .id = {"m/a"},
    .kind = catalog::artifact_kind::neff,
    .location = "/models/m",
    .files = {{"config.json", 12, a_digest(3)}, {"weights/0", 1ull << 33, a_digest(4)}},
  };
}

inline fabric::start_replica a_start() {
  return {
    .epoch = 3,
    .replica = {"m/p/a/0@h"},
    .implementation = {"m/p/a"},
    .model = {"m"},
    .generation = 8,
    .profile = {"llama-server"},
    .profile_text = "runtime-profile: llama-server\n",
    .artifact = a_manifest(),
    .slots = 4,
    .limits = {4'096, 3'072, 1'024, 1 << 20},
    .args = {{"threads", "2"}},
    .devices = {"GPU-8f1c"},
  };
}

/// One of a pool that accepts clear traffic.
inline fabric::start_replica a_start_in_the_clear() {
  auto start = a_start();
  start.plaintext_accepted = true;
  return start;
}

inline fabric::joining_member a_member() {
  return {
    .name = "c2",
    .peers = "10.0.0.2:7104",
    .agents = "10.0.0.2:7103",
    .ingress = "10.0.0.2:7100",
    .signing_public = std::string(64, 'a'),
    .disk = "0190-disk",
    .schema_version = 3,
    .clock = {1'764'000'000'000},
  };
}

inline fabric::join a_join() {
  return {"c2", {a_digest(6).bytes}, a_member()};
}

inline coordinator_at a_coordinator(std::uint8_t number) {
  return {"10.0.0." + std::to_string(number) + ":7103", {a_digest(number).bytes}};
}

inline fabric::joined a_joined() {
  return {
    .accepted = true,
    .identity = {"c2"},
    .text = "welcome",
    .leader = a_coordinator(1),
    .coordinators = {a_coordinator(1), a_coordinator(2)},
    .cluster =
      joined_cluster{
        .cluster = make_uuid7(1, {}),
        .name = "site",
        .node = 7,
        .members = {{1, "c1", "10.0.0.1:7104", {a_digest(8).bytes}, "disk-1", true}},
      },
  };
}

/// One of each kind, with every field set to something that is not its default, by name. What
/// tests/schema/golden holds is read as these for ever, so a message that gets a field gets a
/// second sample, and the first stays as it is.
inline std::vector<std::pair<std::string, agent_message>> agent_samples() {
  return {
    {"hello", hello{2, 99, "boot", "host-1", "0.1.0"}},
    {"heartbeat", agent_heartbeat{}},
    {"inventory", an_inventory()},
    {"replica_report", a_report()},
    {"artifact_report",
     artifact_report{{"m/a"}, a_digest(5), artifact_state::mismatched, 5, 9, "weights/0 differs"}},
    {"native_samples",
     native_samples{{
       {catalog::family::cpu, "load", "1", "", 0.5, {5}, 10ms},
       {catalog::family::amd, "temp", "mC", "0000:03:00.0", unsupported{}, {6}, 20ms},
       {catalog::family::tpu, "hbm", "B", "tpu-0", unavailable{}, {7}, 30ms},
       {catalog::family::neuron, "ecc", "", "nd0", failed{-5}, {8}, 40ms},
     }}},
    {"native_samples_text",
     native_samples{
       {{catalog::family::cpu, "memory.max", "B", "", std::string{"max"}, {9}, 50ms}}}},
    {"adopt_offer", adopt_offer{"http://127.0.0.1:8000", "m", {"http"}, {"physics"}}},
    {"adopt_offer_numbered", adopt_offer{"http://127.0.0.1:8000", "m", {"http"}, {"physics"}, 7}},
    {"join", join{"host-2", {a_digest(6).bytes}}},
    {"join_member", a_join()},
    {"replica_report_loopback", a_report_of_host()},
    {"replica_report_devices", a_report_of_devices()},
    {"inventory_device_states", an_inventory_of_states()},
    {"device_events",
     device_events{
       {{catalog::family::nvidia, "GPU-8f1c", "Xid", 79, "GPU has fallen off the bus.", {9}}}}},
  };
}

inline std::vector<std::pair<std::string, coordinator_message>> coordinator_samples() {
  return {
    {"welcome", welcome{1, 3, 99, 1'000ms, {"host-1"}}},
    {"heartbeat", coordinator_heartbeat{3}},
    {"start_replica", a_start()},
    {"stop_replica", stop_replica{3, {"m/p/a/0@h"}, 8, "moved", 30'000ms}},
    {"adopt_replica",
     adopt_replica{3, {"r"}, {"i"}, {"m"}, 1, {"http"}, "text", "http://127.0.0.1:8000", 2}},
    {"verify_artifact", verify_artifact{3, a_manifest()}},
    {"drain_host", drain_host{3, false, "repaired"}},
    {"drain_host_decided", drain_host{3, false, "repaired", {9}}},
    {"closing", closing{closing_reason::protocol, "too old"}},
    {"joined", joined{true, {"host-2"}, "welcome"}},
    {"welcome_coordinators",
     welcome{1, 3, 99, 1'000ms, {"host-1"}, {a_coordinator(1), a_coordinator(2)}}},
    {"closing_not_leader",
     closing{closing_reason::not_leader, "moved", a_coordinator(1), {a_coordinator(2)}}},
    {"joined_cluster", a_joined()},
    {"start_replica_plaintext", a_start_in_the_clear()},
    {"adopt_outcome", adopt_outcome{7, {"m/p/adopted-h-8000"}, "not declared", "apply it"}},
  };
}

/// How many kinds of message the samples have.
template <class Samples>
std::size_t kinds_of(const Samples& samples) {
  std::set<std::size_t> kinds;
  for (const auto& [_, message] : samples)
    kinds.insert(message.index());
  return kinds.size();
}

} // namespace assay::fabric::test
