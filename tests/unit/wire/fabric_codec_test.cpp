#include "src/base/limits.hpp"
#include "src/wire/fabric_codec.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <random>
#include <string>

namespace assay::wire {

namespace {

using namespace assay::fabric;
using namespace std::chrono_literals;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span{text});
}

digest a_digest(std::uint8_t fill) {
  digest d;
  d.bytes.fill(fill);
  return d;
}

fabric::inventory an_inventory() {
  return {
    .devices = {{catalog::family::nvidia, "GPU-8f1c", "H100", 80'000'000'000}},
    .host_memory_bytes = 1ull << 40,
    .cpus = 96,
    .runtimes = {"llama-server", "vllm"},
    .fingerprint = {a_digest(1), {{"kernel", "6.1.0"}, {"os", "Debian 12"}}},
  };
}

fabric::replica_report a_report() {
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

fabric::artifact_manifest a_manifest() {
  return {
    .id = {"m/a"},
    .kind = catalog::artifact_kind::neff,
    .location = "/models/m",
    .files = {{"config.json", 12, a_digest(3)}, {"weights/0", 1ull << 33, a_digest(4)}},
  };
}

fabric::start_replica a_start() {
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

/// One of each kind, with every field set to something that is not its default.
std::vector<agent_message> agent_messages() {
  return {
    hello{2, 99, "boot", "host-1", "0.1.0"},
    agent_heartbeat{},
    an_inventory(),
    a_report(),
    artifact_report{{"m/a"}, a_digest(5), artifact_state::mismatched, 5, 9, "weights/0 differs"},
    native_samples{{
      {catalog::family::cpu, "load", "1", "", 0.5, {5}, 10ms},
      {catalog::family::amd, "temp", "mC", "0000:03:00.0", unsupported{}, {6}, 20ms},
      {catalog::family::tpu, "hbm", "B", "tpu-0", unavailable{}, {7}, 30ms},
      {catalog::family::neuron, "ecc", "", "nd0", failed{-5}, {8}, 40ms},
    }},
    log_chunk{{"m/p/a/0@h"}, 7, 1'024, "line\n", true},
    adopt_offer{"http://127.0.0.1:8000", "m", {"http"}, {"physics"}, wall_ms{1'764'000'000'000}},
    join{"host-2", {a_digest(6).bytes}},
  };
}

std::vector<coordinator_message> coordinator_messages() {
  return {
    welcome{1, 3, 99, 1'000ms, {"host-1"}},
    coordinator_heartbeat{3},
    a_start(),
    stop_replica{3, {"m/p/a/0@h"}, 8, "moved", 30'000ms},
    adopt_replica{3, {"r"}, {"i"}, {"m"}, 1, {"http"}, "text", "http://127.0.0.1:8000", 2},
    forget_replica{3, {"r"}, 1},
    verify_artifact{3, a_manifest()},
    drain_host{3, false, "repaired"},
    want_log{{"r"}, 1, 65'536},
    closing{closing_reason::protocol, "too old"},
    joined{true, {"host-2"}, "welcome"},
  };
}

} // namespace

TEST_CASE("every agent message survives the wire") {
  auto messages = agent_messages();
  CHECK(messages.size() == std::variant_size_v<agent_message>);
  for (const auto& message : messages) {
    CAPTURE(message.index());
    auto back = decode_agent_message(bytes_of(encode(message)));
    REQUIRE(back);
    CHECK(*back == message);
  }
}

TEST_CASE("every coordinator message survives the wire") {
  auto messages = coordinator_messages();
  CHECK(messages.size() == std::variant_size_v<coordinator_message>);
  for (const auto& message : messages) {
    CAPTURE(message.index());
    auto back = decode_coordinator_message(bytes_of(encode(message)));
    REQUIRE(back);
    CHECK(*back == message);
  }
}

TEST_CASE("every phase keeps its meaning on the wire") {
  for (int i = 0; i <= static_cast<int>(replica_phase::failed); ++i) {
    auto report = a_report();
    report.phase = static_cast<replica_phase>(i);
    auto back = decode_agent_message(bytes_of(encode(agent_message{report})));
    REQUIRE(back);
    CHECK(std::get<replica_report>(*back).phase == report.phase);
  }
}

TEST_CASE("an exit code and no exit at all are told apart") {
  auto report = a_report();
  report.exit = exit_report{false, 1, ""};
  CHECK(*decode_agent_message(bytes_of(encode(agent_message{report}))) == agent_message{report});
  report.exit.reset();
  CHECK(*decode_agent_message(bytes_of(encode(agent_message{report}))) == agent_message{report});
}

TEST_CASE("a message cut at any length is malformed and never read as another") {
  auto whole = encode(agent_message{an_inventory()});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    auto cut = decode_agent_message(bytes_of(whole.substr(0, size)));
    REQUIRE_FALSE(cut);
    CHECK(cut.error() == decode_fault::malformed);
  }
}

TEST_CASE("damaged bytes are refused or read as some message, and nothing throws") {
  auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 chance{seed};
  for (const auto& message : coordinator_messages())
    for (int i = 0; i < 300; ++i) {
      auto bytes = encode(message);
      for (int flips = 0; flips < 4; ++flips)
        bytes[chance() % bytes.size()] = static_cast<char>(chance());
      CHECK_NOTHROW(decode_coordinator_message(bytes_of(bytes)).has_value());
      CHECK_NOTHROW(decode_agent_message(bytes_of(bytes)).has_value());
    }
}

TEST_CASE("a member that only a newer schema knows is unknown, not malformed") {
  // A root with one data word, whose union tag is 9 for an agent, one past the last.
  std::string newer("\0\0\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0\x09\0\0\0\0\0\0\0", 24);
  auto message = decode_agent_message(bytes_of(newer));
  REQUIRE_FALSE(message);
  CHECK(message.error() == decode_fault::unknown_kind);
  newer[16] = 1;
  CHECK(decode_agent_message(bytes_of(newer)));
}

TEST_CASE("the last allowed size is read and the next is not looked at") {
  auto chunk = log_chunk{.replica = {"r"}, .bytes = std::string(limits::message_bytes / 2, 'x')};
  auto half = encode(agent_message{chunk}).size();
  chunk.bytes.append(limits::message_bytes - half, 'x');
  auto bytes = encode(agent_message{chunk});
  REQUIRE(bytes.size() == limits::message_bytes);
  CHECK(decode_agent_message(bytes_of(bytes)));
  bytes.append(8, '\0');
  auto larger = decode_agent_message(bytes_of(bytes));
  REQUIRE_FALSE(larger);
  CHECK(larger.error() == decode_fault::too_large);
}

TEST_CASE("a list may have the limit's entries and not one more") {
  auto inventory = fabric::inventory{};
  inventory.runtimes.assign(limits::fabric_items, "r");
  CHECK(decode_agent_message(bytes_of(encode(agent_message{inventory}))));
  inventory.runtimes.push_back("r");
  auto longer = decode_agent_message(bytes_of(encode(agent_message{inventory})));
  REQUIRE_FALSE(longer);
  CHECK(longer.error() == decode_fault::malformed);
}

TEST_CASE("a log tail over its limit is malformed") {
  auto report = a_report();
  report.log_tail.assign(limits::log_tail_bytes, 'x');
  CHECK(decode_agent_message(bytes_of(encode(agent_message{report}))));
  report.log_tail += 'x';
  CHECK_FALSE(decode_agent_message(bytes_of(encode(agent_message{report}))));
}

TEST_CASE("more segments than allowed are refused before they are parsed") {
  auto bytes = encode(agent_message{agent_heartbeat{}});
  bytes[0] = 16; // The number of segments after the first.
  auto message = decode_agent_message(bytes_of(bytes));
  REQUIRE_FALSE(message);
  CHECK(message.error() == decode_fault::malformed);
}

TEST_CASE("commands carry an epoch, and what only announces one is not a command") {
  CHECK(epoch_of(a_start()) == 3);
  CHECK(epoch_of(drain_host{.epoch = 9}) == 9);
  CHECK_FALSE(epoch_of(welcome{.epoch = 3}));
  CHECK_FALSE(epoch_of(coordinator_heartbeat{3}));
  CHECK_FALSE(epoch_of(want_log{}));
}

} // namespace assay::wire
