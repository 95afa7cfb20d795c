#pragma once
// A hub and its peers on loopback. Everything that a hub or an uplink calls back is recorded, and a
// test waits for a record with a deadline that only a failure reaches.

#include "src/fabric/hub.hpp"
#include "src/fabric/line.hpp"
#include "src/fabric/uplink.hpp"
#include "src/wire/fabric_codec.hpp"

#include <catch2/catch_test_macros.hpp>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace assay::fabric::test {

using namespace std::chrono_literals;

inline constexpr auto patience = 30s;
inline constexpr auto beat = 20ms;

/// Loopback addresses of this process alone: a port that was let go can be bound again.
inline std::string own_host() {
  auto pid = static_cast<unsigned>(::getpid());
  return "127." + std::to_string(1 + (pid >> 16) % 100) + "." + std::to_string((pid >> 8) % 256)
         + "." + std::to_string(2 + pid % 250);
}

/// What happened, in order, readable from the test's thread.
template <class Event>
class record {
public:
  void add(Event event) {
    std::lock_guard hold{mutex_};
    events_.push_back(std::move(event));
    changed_.notify_all();
  }

  std::vector<Event> all() const {
    std::lock_guard hold{mutex_};
    return events_;
  }

  /// False when the deadline came first.
  template <class Predicate>
  bool wait(Predicate holds) {
    std::unique_lock hold{mutex_};
    return changed_.wait_for(hold, patience, [&] { return holds(events_); });
  }

  bool wait_for_count(std::size_t count) {
    return wait([&](const auto& events) { return events.size() >= count; });
  }

  template <class Value>
  bool wait_for(const Value& value) {
    return wait([&](const auto& events) {
      return std::find(events.begin(), events.end(), value) != events.end();
    });
  }

private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Event> events_;
};

struct down {
  std::string identity;
  down_reason reason = down_reason::silent;
  friend bool operator==(const down&, const down&) = default;
};

struct heard {
  std::string identity;
  agent_message message;
  friend bool operator==(const heard&, const heard&) = default;
};

class coordinator {
public:
  explicit coordinator(hub_options options) {
    auto started = hub::start(std::move(options), events());
    INFO((started ? std::string{} : to_text(started.error())));
    REQUIRE(started);
    fabric = std::move(*started);
  }

  record<std::string> ups;
  record<heard> messages;
  record<down> downs;
  record<join_request> joins;
  std::unique_ptr<hub> fabric;

  /// Polls a counter, because counters have no event.
  template <class Predicate>
  bool counted(Predicate holds) const {
    auto deadline = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < deadline) {
      if (holds(fabric->counters()))
        return true;
      std::this_thread::yield();
    }
    return false;
  }

private:
  hub_events events() {
    return {
      [this](const host_id& who, const hello&) { ups.add(who.value); },
      [this](const host_id& who, agent_message m) {
        messages.add({who.value, std::move(m)});
      },
      [this](const host_id& who, down_reason why) {
        downs.add({who.value, why});
      },
      [this](const join_request& asked) { joins.add(asked); },
    };
  }
};

class agent {
public:
  explicit agent(uplink_options options) {
    auto started = uplink::start(std::move(options), events());
    REQUIRE(started);
    link = std::move(*started);
  }

  record<welcome> welcomes;
  record<coordinator_message> messages;
  record<std::string> hosts; ///< HOST:PORT of who welcomed it.
  record<lost_reason> losses;
  record<std::vector<coordinator_at>> lists;
  std::unique_ptr<uplink> link;

private:
  uplink_events events() {
    return {
      [this](const welcome& said, const coordinator_at& by) {
        welcomes.add(said);
        hosts.add(by.address);
      },
      [this](coordinator_message m) { messages.add(std::move(m)); },
      [this](const lost_link& lost) { losses.add(lost.reason); },
      [this](const std::vector<coordinator_at>& all) { lists.add(all); },
    };
  }
};

/// A peer that says exactly what the test tells it to.
class raw_peer {
public:
  raw_peer(const std::string& address, const key_pair& keys, const public_key& server)
    : context_{std::make_unique<context>()}, line_{*context_, address, keys, server} {
    REQUIRE(line_);
  }

  std::optional<line_event> wait_for_event() {
    wait(line_.events().get());
    return line_.next_event();
  }

  bool say(const agent_message& message) { return say_bytes(wire::encode(message)); }
  bool say_bytes(std::string_view bytes, bool more = false) {
    return line_.dealer().send(bytes, more);
  }

  std::optional<coordinator_message> listen() {
    wait(line_.dealer().get());
    frame payload;
    if (!line_.dealer().receive(payload))
      return std::nullopt;
    auto message = wire::decode_coordinator_message(payload.span());
    if (!message)
      return std::nullopt;
    return *message;
  }

  /// The next message that is not a heartbeat.
  std::optional<coordinator_message> listen_past_heartbeats() {
    auto message = listen();
    while (message && std::holds_alternative<coordinator_heartbeat>(*message))
      message = listen();
    return message;
  }

  socket& dealer() { return line_.dealer(); }

private:
  static void wait(void* on) {
    zmq_pollitem_t item{on, 0, ZMQ_POLLIN, 0};
    zmq_poll(&item, 1, std::chrono::milliseconds{patience}.count());
  }

  std::unique_ptr<context> context_; // Movable, and gone after the line.
  line line_;
};

/// A server that holds the coordinator's key and says only what it is told to.
class raw_server {
public:
  explicit raw_server(const key_pair& keys) : router_{context_, ZMQ_ROUTER} {
    REQUIRE(set_curve_server(router_, keys));
    REQUIRE(router_.bind("tcp://127.0.0.1:*"));
  }

  std::string address() const { return router_.last_endpoint().substr(6); }

  agent_message listen() {
    zmq_pollitem_t item{router_.get(), 0, ZMQ_POLLIN, 0};
    zmq_poll(&item, 1, std::chrono::milliseconds{patience}.count());
    frame routing;
    frame payload;
    REQUIRE(router_.receive(routing));
    REQUIRE(router_.receive(payload));
    routing_ = routing.bytes;
    auto message = wire::decode_agent_message(payload.span());
    REQUIRE(message);
    return *message;
  }

  void say(const coordinator_message& message) { say_bytes(wire::encode(message)); }
  void say_bytes(std::string_view bytes) {
    router_.send(routing_, true);
    router_.send(bytes);
  }

  /// Reads hellos until one comes, and welcomes it.
  hello welcome_agent(std::uint64_t epoch = 1) {
    auto message = listen();
    while (!std::holds_alternative<hello>(message))
      message = listen();
    auto said = std::get<hello>(message);
    say(welcome{protocol_version, epoch, said.session, beat, {"h1"}});
    return said;
  }

private:
  context context_;
  socket router_;
  std::string routing_;
};

/// Keys and options of a small site: hosts h1 and h2, and one join token.
struct site {
  key_pair server = new_key_pair();
  key_pair h1 = new_key_pair();
  key_pair h2 = new_key_pair();
  key_pair token = new_key_pair();

  std::vector<admitted> allowed() const {
    return {
      {h1.shared, {"h1"}, role::agent},
      {h2.shared, {"h2"}, role::agent},
      {token.shared, {}, role::joiner},
    };
  }

  hub_options hub() const {
    return {.keys = server, .allow_list = allowed(), .heartbeat_every = beat, .peer_silence = 20s};
  }

  uplink_options uplink(const std::string& address, const key_pair& keys) const {
    return {
      .coordinators = {at(address)},
      .keys = keys,
      .boot_id = "boot",
      .host_name = "claimed",
      .agent_version = "test",
      .peer_silence = 20s,
      .retry_first = 5ms,
      .retry_most = 20ms,
    };
  }

  coordinator_at at(const std::string& address) const { return {address, server.shared}; }

  raw_peer peer(const std::string& address, const key_pair& keys) const {
    return {address, keys, server.shared};
  }
};

inline inventory numbered(std::uint32_t number) {
  return {.cpus = number};
}

inline bool is_stop_of(const coordinator_message& message, std::uint64_t generation) {
  auto stop = std::get_if<stop_replica>(&message);
  return stop != nullptr && stop->generation == generation;
}

} // namespace assay::fabric::test
