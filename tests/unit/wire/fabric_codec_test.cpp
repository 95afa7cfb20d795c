#include "src/base/limits.hpp"
#include "src/wire/fabric_codec.hpp"
#include "tests/support/fabric_samples.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <random>
#include <string>

namespace assay::wire {

namespace {

using namespace assay::fabric;
using namespace assay::fabric::test;
using namespace std::chrono_literals;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span{text});
}

} // namespace

TEST_CASE("every agent message survives the wire") {
  CHECK(kinds_of(agent_samples()) == std::variant_size_v<agent_message>);
  for (const auto& [name, message] : agent_samples()) {
    CAPTURE(name);
    auto back = decode_agent_message(bytes_of(encode(message)));
    REQUIRE(back);
    CHECK(*back == message);
  }
}

TEST_CASE("every coordinator message survives the wire") {
  CHECK(kinds_of(coordinator_samples()) == std::variant_size_v<coordinator_message>);
  for (const auto& [name, message] : coordinator_samples()) {
    CAPTURE(name);
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
  for (const auto& [name, message] : coordinator_samples())
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
