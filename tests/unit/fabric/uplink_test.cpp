// Drives an uplink against a real hub, and against servers that misbehave.

#include "src/base/limits.hpp"
#include "tests/unit/fabric/stage.hpp"

#include <future>

namespace assay::fabric {

namespace {

using namespace test;

} // namespace

TEST_CASE("an agent is welcomed by the name that its key has, and both may speak") {
  site s;
  auto options = s.hub();
  options.standing.epoch = 7;
  coordinator c{options};
  agent a{s.uplink(c.fabric->address(), s.h1)};
  REQUIRE(a.welcomes.wait_for_count(1));
  auto welcomed = a.welcomes.all()[0];
  CHECK(welcomed.identity == host_id{"h1"});
  CHECK(welcomed.epoch == 7);
  CHECK(a.link->send(numbered(4)));
  CHECK(c.messages.wait_for(heard{"h1", numbered(4)}));
  c.fabric->send({"h1"}, stop_replica{.epoch = 7, .generation = 2});
  REQUIRE(a.messages.wait_for_count(1));
  CHECK(is_stop_of(a.messages.all()[0], 2));
}

TEST_CASE("heartbeats keep a session without any other message") {
  site s;
  auto options = s.hub();
  options.peer_silence = 2s;
  coordinator c{options};
  auto link = s.uplink(c.fabric->address(), s.h1);
  link.peer_silence = 2s;
  agent a{link};
  REQUIRE(a.welcomes.wait_for_count(1));
  // 150 heartbeats each way take longer than the silence that is allowed.
  CHECK(c.counted([](const hub_counters& n) { return n.received >= 151 && n.sent >= 151; }));
  CHECK(c.downs.all().empty());
  CHECK(a.losses.all().empty());
}

TEST_CASE("messages arrive in the order in which they were sent") {
  site s;
  coordinator c{s.hub()};
  agent a{s.uplink(c.fabric->address(), s.h1)};
  REQUIRE(a.welcomes.wait_for_count(1));
  for (std::uint32_t i = 0; i < 1'000; ++i)
    REQUIRE(a.link->send(numbered(i)));
  REQUIRE(c.messages.wait_for_count(1'000));
  auto all = c.messages.all();
  for (std::uint32_t i = 0; i < 1'000; ++i)
    REQUIRE(all[i] == heard{"h1", numbered(i)});
  for (std::uint64_t i = 0; i < 1'000; ++i)
    REQUIRE(c.fabric->send({"h1"}, stop_replica{.generation = i}) == send_outcome::queued);
  REQUIRE(a.messages.wait_for_count(1'000));
  auto stops = a.messages.all();
  for (std::uint64_t i = 0; i < 1'000; ++i)
    REQUIRE(is_stop_of(stops[i], i));
}

TEST_CASE("an agent whose key is not allowed is told so, and comes up once it is") {
  site s;
  auto options = s.hub();
  options.allow_list = {};
  coordinator c{options};
  agent a{s.uplink(c.fabric->address(), s.h1)};
  REQUIRE(a.losses.wait_for(lost_reason::refused));
  CHECK(a.welcomes.all().empty());
  c.fabric->replace_allow_list(s.allowed());
  CHECK(a.welcomes.wait_for_count(1));
}

TEST_CASE("an agent does not talk to a server that lacks the coordinator's key") {
  site s;
  coordinator impostor{site{}.hub()};
  agent a{s.uplink(impostor.fabric->address(), s.h1)};
  CHECK(a.losses.wait_for(lost_reason::wrong_server));
  CHECK(a.welcomes.all().empty());
}

TEST_CASE("an agent that finds nobody keeps dialling and comes up when somebody is there") {
  site s;
  auto address = coordinator{s.hub()}.fabric->address();
  agent a{s.uplink(address, s.h1)};
  REQUIRE(a.losses.wait_for_count(2));
  CHECK(a.losses.all()[0] == lost_reason::unreachable);
  auto options = s.hub();
  options.listen = address;
  coordinator c{options};
  CHECK(a.welcomes.wait_for_count(1));
}

TEST_CASE("an agent resumes with a newer session when its coordinator restarts") {
  site s;
  auto first = std::make_unique<coordinator>(s.hub());
  auto options = s.hub();
  options.listen = first->fabric->address();
  agent a{s.uplink(options.listen, s.h1)};
  REQUIRE(a.welcomes.wait_for_count(1));
  first.reset();
  REQUIRE(a.losses.wait_for_count(1));
  CHECK_FALSE(a.link->send(numbered(1)));
  coordinator second{options};
  REQUIRE(a.welcomes.wait_for_count(2));
  auto welcomes = a.welcomes.all();
  CHECK(welcomes[1].session > welcomes[0].session);
  CHECK(a.link->send(numbered(2)));
  CHECK(second.messages.wait_for(heard{"h1", numbered(2)}));
}

TEST_CASE("a coordinator that falls silent is left, and the session begun anew on a new socket") {
  site s;
  raw_server server{s.server};
  auto options = s.uplink(server.address(), s.h1);
  options.peer_silence = 200ms;
  agent a{options};
  auto first = server.welcome_agent();
  CHECK(a.losses.wait_for(lost_reason::silent));
  auto second = server.welcome_agent();
  CHECK(second.session > first.session);
  CHECK(a.welcomes.wait_for_count(1));
}

TEST_CASE("an agent whose session is unknown begins another") {
  site s;
  raw_server server{s.server};
  agent a{s.uplink(server.address(), s.h1)};
  auto first = server.welcome_agent();
  server.say(closing{closing_reason::no_session, "say hello first"});
  auto second = server.welcome_agent();
  CHECK(second.session > first.session);
}

TEST_CASE("an agent drops what is not a message and stays up") {
  site s;
  raw_server server{s.server};
  agent a{s.uplink(server.address(), s.h1)};
  server.welcome_agent();
  server.say_bytes("garbage");
  server.say_bytes(std::string("\0\0\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0\x7f\0\0\0\0\0\0\0", 24));
  server.say(stop_replica{.epoch = 1, .generation = 3});
  REQUIRE(a.messages.wait_for_count(1));
  CHECK(is_stop_of(a.messages.all()[0], 3));
  CHECK(a.link->counters().dropped_malformed == 1);
  CHECK(a.link->counters().dropped_unknown_kind == 1);
  CHECK(a.losses.all().empty());
}

TEST_CASE("a welcome of another session and commands before the welcome are not heard") {
  site s;
  raw_server server{s.server};
  agent a{s.uplink(server.address(), s.h1)};
  auto said = std::get<hello>(server.listen());
  server.say(stop_replica{.epoch = 1, .generation = 1});
  server.say(welcome{protocol_version, 1, said.session - 1, beat, {"h1"}});
  server.say(stop_replica{.epoch = 1, .generation = 1});
  server.say(welcome{protocol_version, 1, said.session, beat, {"h1"}});
  server.say(stop_replica{.epoch = 1, .generation = 2});
  REQUIRE(a.messages.wait_for_count(1));
  CHECK(is_stop_of(a.messages.all()[0], 2));
  CHECK(a.welcomes.all().size() == 1);
}

TEST_CASE("commands of an older epoch are refused, on this session and on the next") {
  site s;
  raw_server server{s.server};
  agent a{s.uplink(server.address(), s.h1)};
  server.welcome_agent(5);
  server.say(stop_replica{.epoch = 4, .generation = 1});
  server.say(coordinator_heartbeat{8});
  server.say(stop_replica{.epoch = 7, .generation = 2});
  server.say(stop_replica{.epoch = 8, .generation = 3});
  REQUIRE(a.messages.wait_for_count(1));
  server.say(closing{closing_reason::shutting_down, ""});
  server.welcome_agent(6); // A leader of the past, back from a pause.
  server.say(stop_replica{.epoch = 6, .generation = 4});
  server.say(stop_replica{.epoch = 9, .generation = 5});
  REQUIRE(a.messages.wait_for_count(2));
  CHECK(is_stop_of(a.messages.all()[0], 3));
  CHECK(is_stop_of(a.messages.all()[1], 5));
  CHECK(a.link->counters().refused_epoch == 3);
}

TEST_CASE("two agents with one key: the newer stays up while the older is told why") {
  site s;
  coordinator c{s.hub()};
  auto options = s.uplink(c.fabric->address(), s.h1);
  options.retry_most = 10min;
  agent older{options};
  REQUIRE(older.welcomes.wait_for_count(1));
  agent newer{options};
  REQUIRE(newer.welcomes.wait_for_count(1));
  CHECK(older.losses.wait_for(lost_reason::superseded));
  CHECK(newer.link->send(numbered(3)));
  CHECK(c.messages.wait_for(heard{"h1", numbered(3)}));
}

TEST_CASE("without a session nothing is taken for sending, and what is too large never is") {
  site s;
  agent unconnected{s.uplink("127.0.0.1:1", s.h1)};
  CHECK_FALSE(unconnected.link->send(numbered(1)));
  coordinator c{s.hub()};
  agent a{s.uplink(c.fabric->address(), s.h1)};
  REQUIRE(a.welcomes.wait_for_count(1));
  CHECK_FALSE(a.link->send(adopt_offer{.url = std::string(limits::message_bytes, 'x')}));
  CHECK(a.link->send(numbered(1)));
}

TEST_CASE("an address that can never be dialled is refused at once") {
  site s;
  for (auto address :
       {"",
        "host",
        "host:",
        ":7103",
        "host:0",
        "host:65536",
        "host:x",
        "a b:1",
        "127.0.0.1:7103;x:1",
        "*:7103"}) {
    INFO(address);
    auto started = uplink::start(s.uplink(address, s.h1), {});
    REQUIRE_FALSE(started);
    CHECK(started.error().kind == problem_kind::invalid);
  }
  auto nobody = s.uplink("127.0.0.1:1", s.h1);
  nobody.coordinators.clear();
  CHECK_FALSE(uplink::start(nobody, {}));
  CHECK(can_be_dialled("[::1]:7103"));
  CHECK(can_be_dialled("coordinator.site:65535"));
}

TEST_CASE("a token holder that is accepted learns the host's name, and its agent then comes up") {
  site s;
  auto options = s.hub();
  options.allow_list = {{s.token.shared, {}, role::joiner}};
  coordinator c{options};
  auto token = parse_join_token(to_text(join_token{c.fabric->address(), s.server.shared, s.token}));
  REQUIRE(token);
  auto joining = std::async(std::launch::async, [&] {
    return join_cluster(*token, "h9", s.h1.shared, patience);
  });
  REQUIRE(c.joins.wait_for_count(1));
  auto asked = c.joins.all()[0];
  CHECK(asked.name == "h9");
  CHECK(asked.key == s.h1.shared);
  CHECK(asked.token == s.token.shared);
  c.fabric->replace_allow_list({{s.h1.shared, {"h9"}, role::agent}}); // The token is used up.
  c.fabric->answer(asked.number, {true, {"h9"}, ""});
  auto name = joining.get();
  REQUIRE(name);
  CHECK(name->name.value == "h9");
  CHECK(name->coordinators == std::vector{s.at(c.fabric->address())});
  agent a{s.uplink(c.fabric->address(), s.h1)};
  CHECK(a.welcomes.wait_for_count(1));
  auto again = join_cluster(*token, "h9", s.h1.shared, patience);
  REQUIRE_FALSE(again);
  CHECK(again.error().kind == problem_kind::forbidden);
}

TEST_CASE("a join that is refused says why, and a bad host name never reaches the ledger") {
  site s;
  coordinator c{s.hub()};
  join_token token{c.fabric->address(), s.server.shared, s.token};
  auto joining = std::async(std::launch::async, [&] {
    return join_cluster(token, "h9", s.h1.shared, patience);
  });
  REQUIRE(c.joins.wait_for_count(1));
  c.fabric->answer(c.joins.all()[0].number, {false, {}, "h9 is taken"});
  auto name = joining.get();
  REQUIRE_FALSE(name);
  CHECK(name.error().what.find("h9 is taken") != std::string::npos);
  CHECK_FALSE(join_cluster(token, "h 9", s.h1.shared, patience));
  CHECK(c.joins.all().size() == 1);
}

TEST_CASE("joining gives up with a reason when nobody answers") {
  site s;
  join_token nobody{"127.0.0.1:1", s.server.shared, s.token};
  auto name = join_cluster(nobody, "h9", s.h1.shared, patience);
  REQUIRE_FALSE(name);
  CHECK(name.error().kind == problem_kind::unavailable);
  raw_server mute{s.server};
  join_token unanswered{mute.address(), s.server.shared, s.token};
  auto late = join_cluster(unanswered, "h9", s.h1.shared, 50ms);
  REQUIRE_FALSE(late);
  CHECK(late.error().kind == problem_kind::unavailable);
}

} // namespace assay::fabric
