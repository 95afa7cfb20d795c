#include "src/base/peer_limits.hpp"
#include "src/wire/fabric_codec.hpp"
#include "tests/support/fabric_samples.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>
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

/// What survives the wire is the same, and nothing else is read.
template <class Message>
bool survives(const Message& message) {
  auto back = decode_coordinator_message(bytes_of(encode(coordinator_message{message})));
  return back && std::get<Message>(*back) == message;
}

template <class Message>
bool is_malformed(const Message& message) {
  auto back = decode_coordinator_message(bytes_of(encode(coordinator_message{message})));
  return !back && back.error() == decode_fault::malformed;
}

bool is_malformed(const join& message) {
  auto back = decode_agent_message(bytes_of(encode(agent_message{message})));
  return !back && back.error() == decode_fault::malformed;
}

TEST_CASE("every reason to close keeps its meaning on the wire") {
  for (int i = 0; i <= static_cast<int>(closing_reason::not_leader); ++i)
    CHECK(survives(closing{static_cast<closing_reason>(i), "why"}));
}

TEST_CASE("a leader that is not known, and a host's join, are told apart from one that is there") {
  CHECK(survives(closing{closing_reason::not_leader, "electing"}));
  CHECK(survives(joined{false, {}, "the token was used"}));
  auto host = join{"h2", {a_digest(6).bytes}};
  CHECK(*decode_agent_message(bytes_of(encode(agent_message{host}))) == agent_message{host});
}

TEST_CASE("a closing is a closing to a reader that knows none of its reasons") {
  auto bytes_with = [](closing_reason reason) {
    return encode(coordinator_message{closing{reason, ""}});
  };
  // The reason is where two closings differ.
  auto bytes = bytes_with(closing_reason::shutting_down);
  auto other = bytes_with(closing_reason::protocol);
  auto at = std::mismatch(bytes.begin(), bytes.end(), other.begin()).first - bytes.begin();
  auto moved = bytes_with(closing_reason::not_leader);
  CHECK(moved[at] == bytes[at]); // What an older agent reads: the coordinator ends.
  bytes[at] = 64;
  auto back = decode_coordinator_message(bytes_of(bytes));
  REQUIRE(back);
  CHECK(std::get<closing>(*back).reason == closing_reason::shutting_down);
}

TEST_CASE("as many coordinators as a group may have are read, and not one more") {
  std::vector<coordinator_at> most(limits::peers, a_coordinator(1));
  CHECK(survives(welcome{.coordinators = most}));
  most.push_back(a_coordinator(2));
  CHECK(is_malformed(welcome{.coordinators = most}));
  CHECK(is_malformed(closing{closing_reason::not_leader, "", {}, most}));
  CHECK(is_malformed(joined{.coordinators = most}));
  auto answer = a_joined();
  answer.cluster->members.assign(limits::peers, answer.cluster->members[0]);
  CHECK(survives(answer));
  answer.cluster->members.push_back(answer.cluster->members[0]);
  CHECK(is_malformed(answer));
}

TEST_CASE("an address or a name over its limit is malformed, wherever it stands") {
  auto at = a_coordinator(1);
  at.address.assign(limits::peer_address_bytes, 'a');
  CHECK(survives(welcome{.coordinators = {at}}));
  at.address += 'a';
  CHECK(is_malformed(welcome{.coordinators = {at}}));
  CHECK(is_malformed(joined{.leader = at}));
  const std::pair<std::string joining_member::*, std::size_t> parts[] = {
    {&joining_member::name, limits::name_bytes},
    {&joining_member::peers, limits::peer_address_bytes},
    {&joining_member::agents, limits::peer_address_bytes},
    {&joining_member::ingress, limits::peer_address_bytes},
    {&joining_member::signing_public, limits::name_bytes},
    {&joining_member::disk, limits::name_bytes},
  };
  for (const auto& [part, most] : parts) {
    auto said = a_join();
    ((*said.member).*part).assign(most, 'a');
    CHECK_FALSE(is_malformed(said));
    ((*said.member).*part) += 'a';
    CHECK(is_malformed(said));
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
  // A root with one data word, whose union tag is 10 for an agent, one past the last.
  std::string newer("\0\0\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0\x0a\0\0\0\0\0\0\0", 24);
  auto message = decode_agent_message(bytes_of(newer));
  REQUIRE_FALSE(message);
  CHECK(message.error() == decode_fault::unknown_kind);
  newer[16] = 1;
  CHECK(decode_agent_message(bytes_of(newer)));
}

TEST_CASE("the last allowed size is read and the next is not looked at") {
  auto offer = adopt_offer{.url = std::string(limits::message_bytes / 2 - 1, 'x')};
  auto half = encode(agent_message{offer}).size();
  offer.url.append(limits::message_bytes - half, 'x');
  auto bytes = encode(agent_message{offer});
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
  CHECK_FALSE(epoch_of(adopt_outcome{}));
}

} // namespace assay::wire
