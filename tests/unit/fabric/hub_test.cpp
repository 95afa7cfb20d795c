// Drives a hub with real sockets and peers that misbehave.

#include "src/base/limits.hpp"
#include "src/fabric/probe.hpp"
#include "tests/unit/fabric/stage.hpp"

#include <atomic>
#include <thread>

namespace assay::fabric {

namespace {

using namespace test;

/// A raw peer with an open session.
raw_peer greeted(const site& s, coordinator& c, const key_pair& keys, std::uint64_t session) {
  auto peer = s.peer(c.fabric->address(), keys);
  REQUIRE(peer.wait_for_event() == line_event::established);
  REQUIRE(peer.say(hello{.session = session}));
  auto answer = peer.listen_past_heartbeats();
  REQUIRE(answer);
  REQUIRE(std::holds_alternative<welcome>(*answer));
  return peer;
}

/// Says hello and never reads; its buffers are small, so that the hub's fill soon.
class mute_peer {
public:
  mute_peer(const std::string& address, const key_pair& keys, const public_key& server)
    : dealer_{context_, ZMQ_DEALER} {
    REQUIRE(set_curve_client(dealer_, keys, server));
    REQUIRE((dealer_.set(ZMQ_RCVHWM, 1) && dealer_.set(ZMQ_RCVBUF, 4'096)));
    REQUIRE(dealer_.connect("tcp://" + address));
    REQUIRE(dealer_.send(wire::encode(agent_message{hello{.session = 1}})));
  }

private:
  context context_;
  socket dealer_;
};

} // namespace

TEST_CASE("a message carries the name of the key that sent it, not the name it claims") {
  site s;
  coordinator c{s.hub()};
  auto peer = greeted(s, c, s.h1, 1);
  peer.say(numbered(1));
  REQUIRE(c.messages.wait_for_count(1));
  CHECK(c.messages.all()[0].identity == "h1");
  CHECK(c.ups.all() == std::vector<std::string>{"h1"});
}

TEST_CASE("a key that nobody allowed is refused in the handshake") {
  site s;
  coordinator c{s.hub()};
  auto before = c.fabric->counters().keys_refused;
  auto stranger = s.peer(c.fabric->address(), new_key_pair());
  CHECK(stranger.wait_for_event() == line_event::refused);
  CHECK(c.counted([&](const hub_counters& n) { return n.keys_refused > before; }));
  CHECK(c.ups.all().empty());
}

TEST_CASE("a hub with other keys listens where it did, to those who know them and to nobody else") {
  site s;
  auto options = s.hub();
  options.listen = own_host() + ":0";
  coordinator c{options};
  auto address = c.fabric->address();
  auto old_peer = greeted(s, c, s.h1, 1);
  auto keys = new_key_pair();
  REQUIRE(c.fabric->change_keys(keys));
  CHECK(c.downs.wait_for(down{"h1", down_reason::stopped}));
  CHECK(c.fabric->address() == address);
  CHECK(c.fabric->key() == keys.shared);
  context shared;
  CHECK(
    probe_with_unknown_key(shared, "tcp://" + address, keys.shared, patience)
    == probe_outcome::refused
  );
  s.server = keys; // The allow-list is the one that it had.
  auto peer = greeted(s, c, s.h1, 2);
  peer.say(numbered(1));
  REQUIRE(c.messages.wait_for_count(1));
}

TEST_CASE("the self-test tells a server that lets every key in from one that refuses") {
  site s;
  context shared;
  socket open{shared, ZMQ_ROUTER};
  REQUIRE(set_curve_server(open, s.server));
  REQUIRE(open.bind("tcp://127.0.0.1:*"));
  auto endpoint = open.last_endpoint();
  CHECK(
    probe_with_unknown_key(shared, endpoint, s.server.shared, patience) == probe_outcome::let_in
  );
  coordinator c{s.hub()};
  CHECK(
    probe_with_unknown_key(shared, "tcp://" + c.fabric->address(), s.server.shared, patience)
    == probe_outcome::refused
  );
  CHECK(
    probe_with_unknown_key(shared, "tcp://127.0.0.1:1", s.server.shared, 50ms)
    == probe_outcome::no_answer
  );
}

TEST_CASE("an address that is taken is a problem that names it") {
  site s;
  coordinator c{s.hub()};
  auto options = s.hub();
  options.listen = c.fabric->address();
  auto second = hub::start(options, {});
  REQUIRE_FALSE(second);
  CHECK(second.error().kind == problem_kind::unavailable);
  CHECK(second.error().where == c.fabric->address());
}

TEST_CASE("a revoked key is not heard again, though its connection stays and keeps talking") {
  site s;
  coordinator c{s.hub()};
  auto peer = greeted(s, c, s.h1, 1);
  peer.say(numbered(1));
  REQUIRE(c.messages.wait_for_count(1));
  c.fabric->replace_allow_list({{s.h2.shared, {"h2"}, role::agent}});
  for (std::uint32_t i = 0; i < 50; ++i)
    peer.say(numbered(100 + i));
  CHECK(c.downs.wait_for(down{"h1", down_reason::revoked}));
  CHECK(c.counted([](const hub_counters& n) { return n.dropped_key >= 50; }));
  CHECK(c.messages.all().size() == 1);
}

TEST_CASE("a key revoked under fire has none of its messages accepted past the call") {
  site s;
  coordinator c{s.hub()};
  auto peer = greeted(s, c, s.h1, 1);
  std::atomic<std::uint32_t> sent{0};
  std::atomic<bool> stop{false};
  std::thread fire{[&] {
    while (!stop)
      if (peer.say(numbered(sent + 1)))
        ++sent;
  }};
  REQUIRE(c.messages.wait_for_count(200));
  c.fabric->replace_allow_list({});
  auto sent_at_return = sent.load();
  CHECK(c.counted([](const hub_counters& n) { return n.dropped_key >= 200; }));
  stop = true;
  fire.join();
  // At most the one message whose delivery was under way when the call returned.
  for (const auto& message : c.messages.all())
    CHECK(std::get<inventory>(message.message).cpus <= sent_at_return + 1);
}

TEST_CASE("a key that is allowed again may speak again after a new hello") {
  site s;
  coordinator c{s.hub()};
  auto peer = greeted(s, c, s.h1, 1);
  c.fabric->replace_allow_list({});
  REQUIRE(c.downs.wait_for_count(1));
  c.fabric->replace_allow_list(s.allowed());
  peer.say(hello{.session = 2});
  CHECK(c.ups.wait_for_count(2));
}

TEST_CASE("of two sessions of one key the newest is heard, and the older is told") {
  site s;
  coordinator c{s.hub()};
  auto older = greeted(s, c, s.h1, 1);
  auto newer = greeted(s, c, s.h1, 2);
  CHECK(c.downs.wait_for(down{"h1", down_reason::superseded}));
  auto told = older.listen_past_heartbeats();
  REQUIRE(told);
  CHECK(std::get<closing>(*told).reason == closing_reason::superseded);
  older.say(numbered(1));
  CHECK(c.counted([](const hub_counters& n) { return n.dropped_session >= 1; }));
  newer.say(numbered(2));
  CHECK(c.messages.wait_for(heard{"h1", numbered(2)}));
  CHECK(c.messages.all().size() == 1);
}

TEST_CASE("a late hello of an older session does not take over") {
  site s;
  coordinator c{s.hub()};
  auto newer = greeted(s, c, s.h1, 9);
  auto older = s.peer(c.fabric->address(), s.h1);
  REQUIRE(older.wait_for_event() == line_event::established);
  older.say(hello{.session = 8});
  auto told = older.listen();
  REQUIRE(told);
  CHECK(std::get<closing>(*told).reason == closing_reason::superseded);
  newer.say(numbered(1));
  CHECK(c.messages.wait_for_count(1));
}

TEST_CASE("a heartbeat without a hello is told to begin a session") {
  site s;
  coordinator c{s.hub()};
  auto peer = s.peer(c.fabric->address(), s.h1);
  REQUIRE(peer.wait_for_event() == line_event::established);
  peer.say(agent_heartbeat{});
  auto told = peer.listen();
  REQUIRE(told);
  CHECK(std::get<closing>(*told).reason == closing_reason::no_session);
}

TEST_CASE("a peer that says nothing is given up after peer_silence, one that says little is not") {
  site s;
  auto options = s.hub();
  options.peer_silence = 1s;
  coordinator c{options};
  agent talker{s.uplink(c.fabric->address(), s.h2)};
  REQUIRE(talker.welcomes.wait_for_count(1));
  auto peer = greeted(s, c, s.h1, 1);
  CHECK(c.downs.wait_for(down{"h1", down_reason::silent}));
  CHECK(c.downs.all().size() == 1);
  CHECK(c.counted([](const hub_counters& n) { return n.peers_lost_silent == 1; }));
}

TEST_CASE("a peer whose connection ends is down without waiting for its silence") {
  site s;
  coordinator c{s.hub()};
  { auto peer = greeted(s, c, s.h1, 1); }
  CHECK(c.downs.wait_for(down{"h1", down_reason::disconnected}));
}

TEST_CASE("of two peers that are sent the same, only the one that takes nothing is cut") {
  site s;
  auto options = s.hub();
  options.peer_silence = 10min;
  options.peer_queue_bytes = 1 << 20;
  coordinator c{options};
  agent healthy{s.uplink(c.fabric->address(), s.h2)};
  REQUIRE(healthy.welcomes.wait_for_count(1));
  mute_peer slow{c.fabric->address(), s.h1, s.server.shared};
  REQUIRE(c.ups.wait_for_count(2));
  start_replica large{.profile_text = std::string(256 << 10, 'x')};
  std::size_t sent = 0;
  while (c.downs.all().empty() && sent < 200) {
    c.fabric->send({"h1"}, large);
    c.fabric->send({"h2"}, large);
    REQUIRE(healthy.messages.wait_for_count(++sent));
  }
  CHECK(c.downs.wait_for(down{"h1", down_reason::slow}));
  CHECK(c.counted([](const hub_counters& n) { return n.peers_cut_slow == 1; }));
  CHECK(c.downs.all().size() == 1);
  CHECK(healthy.losses.all().empty());
}

TEST_CASE("what is not a message is dropped and counted, and the session goes on") {
  site s;
  coordinator c{s.hub()};
  auto peer = greeted(s, c, s.h1, 1);
  std::string newer("\0\0\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0\x7f\0\0\0\0\0\0\0", 24);
  peer.say_bytes("");
  peer.say_bytes("not a message at all");
  peer.say_bytes(wire::encode(numbered(4)), true); // Two frames, each of them a message.
  peer.say_bytes(wire::encode(numbered(4)));
  peer.say_bytes(newer);
  peer.say_bytes(std::string(limits::message_bytes + 8, '\0'));
  peer.say(join{"h3", s.h2.shared});
  peer.say(numbered(5));
  REQUIRE(c.messages.wait_for(heard{"h1", numbered(5)}));
  CHECK(c.counted([](const hub_counters& n) { return n.delivered == 1; }));
  auto counters = c.fabric->counters();
  CHECK(counters.dropped_malformed == 3);
  CHECK(counters.dropped_unknown_kind == 1);
  CHECK(counters.dropped_too_large == 1);
  CHECK(counters.dropped_role == 1);
}

TEST_CASE("a frame far over the limit ends its connection and nobody else's") {
  site s;
  coordinator c{s.hub()};
  auto peer = greeted(s, c, s.h1, 1);
  auto other = greeted(s, c, s.h2, 1);
  peer.say_bytes(std::string(4 * limits::message_bytes, '\0'));
  CHECK(peer.wait_for_event() == line_event::ended);
  other.say(numbered(6));
  CHECK(c.messages.wait_for(heard{"h2", numbered(6)}));
}

TEST_CASE("a message too large to be read is not sent") {
  site s;
  coordinator c{s.hub()};
  start_replica large{.profile_text = std::string(limits::message_bytes, 'x')};
  CHECK(c.fabric->send({"h1"}, large) == send_outcome::too_large);
}

TEST_CASE("a message to a host that is not there is dropped and counted") {
  site s;
  coordinator c{s.hub()};
  CHECK(c.fabric->send({"h1"}, adopt_outcome{}) == send_outcome::queued);
  CHECK(c.counted([](const hub_counters& n) { return n.sends_refused == 1; }));
}

TEST_CASE("a joiner may say join and nothing else") {
  site s;
  coordinator c{s.hub()};
  auto joiner = s.peer(c.fabric->address(), s.token);
  REQUIRE(joiner.wait_for_event() == line_event::established);
  joiner.say(hello{.session = 1});
  joiner.say(numbered(1));
  joiner.say(agent_heartbeat{});
  CHECK(c.counted([](const hub_counters& n) { return n.dropped_role == 3; }));
  CHECK(c.ups.all().empty());
  CHECK(c.messages.all().empty());
}

TEST_CASE("callbacks may use the hub that calls them") {
  site s;
  std::atomic<hub*> in_hand{nullptr};
  record<down> downs;
  hub_events events;
  events.peer_up = [&](const host_id& who, const hello&) {
    in_hand.load()->send(who, adopt_outcome{.number = 5});
  };
  events.message = [&](const host_id&, agent_message) { in_hand.load()->replace_allow_list({}); };
  events.peer_down = [&](const host_id& who, down_reason why) { downs.add({who.value, why}); };
  auto options = s.hub();
  options.allow_list = {};
  auto started = hub::start(options, events);
  REQUIRE(started);
  in_hand = started->get();
  (*started)->replace_allow_list(s.allowed());
  agent a{s.uplink((*started)->address(), s.h1)};
  REQUIRE(a.messages.wait_for(coordinator_message{adopt_outcome{.number = 5}}));
  CHECK(a.link->send(numbered(1)));
  CHECK(downs.wait_for(down{"h1", down_reason::revoked}));
}

} // namespace assay::fabric
