#include "src/fabric/dialling.hpp"
#include "src/fabric/join_checks.hpp"
#include "src/fabric/roster.hpp"
#include "src/fabric/zap.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::fabric {

namespace {

using namespace std::chrono_literals;

const auto dawn = steady_time{};
const auto host = host_id{"h1"};

public_key key(std::uint8_t fill) {
  public_key k;
  k.bytes.fill(fill);
  return k;
}

hello session(std::uint64_t number) {
  return {.session = number};
}

/// Key 1 is host h1, key 2 is host h2.
roster two_hosts() {
  roster people{4s, 1'000};
  people.replace(allow_list{{{key(1), host, role::agent}, {key(2), {"h2"}, role::agent}}});
  return people;
}

} // namespace

TEST_CASE("the newest session of an identity ends the older one") {
  auto people = two_hosts();
  CHECK(people.greet("c1", key(1), session(1), dawn).admitted);
  auto newer = people.greet("c2", key(1), session(2), dawn);
  CHECK(newer.admitted);
  REQUIRE(newer.replaced);
  CHECK(newer.replaced->routing == "c1");
  CHECK(newer.replaced->reason == down_reason::superseded);
  CHECK(people.hear("c1", key(1), dawn) == nullptr);
  CHECK(people.hear("c2", key(1), dawn) != nullptr);
}

TEST_CASE("a session that is not newer is refused and changes nothing") {
  auto people = two_hosts();
  people.greet("c1", key(1), session(5), dawn);
  for (std::uint64_t number : {4, 5}) {
    auto late = people.greet("c2", key(1), session(number), dawn);
    CHECK_FALSE(late.admitted);
    CHECK(late.refusal.reason == closing_reason::superseded);
  }
  CHECK(people.hear("c1", key(1), dawn) != nullptr);
}

TEST_CASE("a second hello on the same connection begins a new session there") {
  auto people = two_hosts();
  people.greet("c1", key(1), session(1), dawn);
  CHECK(people.greet("c1", key(1), session(2), dawn).admitted);
  CHECK(people.hear("c1", key(1), dawn)->number == 2);
}

TEST_CASE("another protocol version is told so") {
  auto people = two_hosts();
  auto said = hello{.protocol = protocol_version + 1, .session = 1};
  CHECK(people.greet("c1", key(1), said, dawn).refusal.reason == closing_reason::protocol);
}

TEST_CASE("a frame on somebody else's connection belongs to no session") {
  auto people = two_hosts();
  people.greet("c1", key(1), session(1), dawn);
  CHECK(people.hear("c1", key(2), dawn) == nullptr);
}

TEST_CASE("a peer is silent one moment after peer_silence and not before") {
  auto people = two_hosts();
  people.greet("c1", key(1), session(1), dawn);
  CHECK(people.lapse(dawn + 4s).empty());
  people.hear("c1", key(1), dawn + 4s);
  CHECK(people.lapse(dawn + 8s).empty());
  auto ended = people.lapse(dawn + 8s + 1ns);
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].reason == down_reason::silent);
  CHECK(people.size() == 0);
}

TEST_CASE("a key that leaves the allow-list, or changes its name or role, loses its session") {
  for (auto entries : {
         std::vector<admitted>{},
         std::vector<admitted>{{key(1), {"renamed"}, role::agent}},
         std::vector<admitted>{{key(1), host, role::joiner}},
       }) {
    auto people = two_hosts();
    people.greet("c1", key(1), session(1), dawn);
    auto ended = people.replace(allow_list{entries});
    REQUIRE(ended.size() == 1);
    CHECK(ended[0].identity == host);
    CHECK(ended[0].reason == down_reason::revoked);
  }
}

TEST_CASE("a session whose key stays allowed is left alone") {
  auto people = two_hosts();
  people.greet("c1", key(1), session(1), dawn);
  CHECK(people.replace(allow_list{{{key(1), host, role::agent}}}).empty());
  CHECK(people.hear("c1", key(1), dawn) != nullptr);
}

TEST_CASE("bytes wait up to the budget and not past it, and leaving makes room") {
  auto people = two_hosts();
  people.greet("c1", key(1), session(1), dawn);
  auto& peer = *people.find_session(host);
  CHECK(people.put(peer, std::string(1'000 - 64, 'x'))); // 64 is what each message costs beside.
  CHECK_FALSE(people.put(peer, ""));
  people.taken(peer);
  CHECK(people.put(peer, ""));
}

TEST_CASE("a join is asked once however often it is repeated") {
  join_desk desk;
  auto said = join{"h3", key(9)};
  auto first = desk.ask(key(1), "c1", said, dawn);
  CHECK(first.outcome == join_desk::outcome::asked);
  auto second = desk.ask(key(1), "c2", said, dawn);
  CHECK(second.outcome == join_desk::outcome::repeated);
  CHECK(second.number == first.number);
  CHECK(desk.take(first.number) == "c2");
  CHECK_FALSE(desk.take(first.number));
}

TEST_CASE("a member that asks again a moment later asks for the same, at another place it does not"
) {
  join_desk desk;
  join said{"c2", key(9), joining_member{.name = "c2", .peers = "10.0.0.2:7104", .clock = {1}}};
  auto first = desk.ask(key(1), "c1", said, dawn);
  said.member->clock = {2};
  CHECK(desk.ask(key(1), "c2", said, dawn).number == first.number);
  said.member->peers = "10.0.0.3:7104";
  CHECK(desk.ask(key(1), "c3", said, dawn).outcome == join_desk::outcome::busy);
}

TEST_CASE("one token cannot ask for two hosts at a time") {
  join_desk desk;
  desk.ask(key(1), "c1", {"h3", key(9)}, dawn);
  CHECK(desk.ask(key(1), "c2", {"h4", key(9)}, dawn).outcome == join_desk::outcome::busy);
}

TEST_CASE("join requests are bounded and lapse") {
  join_desk desk;
  auto token = [](std::size_t i) { return key(static_cast<std::uint8_t>(i)); };
  for (std::size_t i = 0; i < limits::joins_waiting; ++i)
    CHECK(desk.ask(token(i), "c", {"h", key(9)}, dawn).outcome == join_desk::outcome::asked);
  auto one_more = token(limits::joins_waiting);
  CHECK(desk.ask(one_more, "c", {"h", key(9)}, dawn).outcome == join_desk::outcome::busy);
  desk.lapse(dawn + limits::join_patience);
  CHECK(desk.ask(one_more, "c", {"h", key(9)}, dawn).outcome == join_desk::outcome::busy);
  desk.lapse(dawn + limits::join_patience + 1ns);
  CHECK(desk.ask(one_more, "c", {"h", key(9)}, dawn).outcome == join_desk::outcome::asked);
}

TEST_CASE("a host name has 1 to 64 plain characters") {
  CHECK(is_host_name("gpu-1.rack_2"));
  CHECK(is_host_name(std::string(64, 'h')));
  CHECK_FALSE(is_host_name(std::string(65, 'h')));
  CHECK_FALSE(is_host_name(""));
  CHECK_FALSE(is_host_name("a b"));
  CHECK_FALSE(is_host_name("a\n"));
}

TEST_CASE("ZAP lets in an allowed key over CURVE in our domain and nothing else") {
  auto allowed = [](const public_key& asked) { return asked == key(1); };
  auto text = [](const public_key& k) { return std::string(k.bytes.begin(), k.bytes.end()); };
  std::vector<std::string> good{
    "1.0", "1", std::string{zap_domain}, "127.0.0.1", "", "CURVE", text(key(1))};
  CHECK(judge_zap(good, allowed).allowed);
  CHECK(judge_zap(good, allowed).user_id == to_text(key(1)));
  const std::pair<std::size_t, std::string> changes[] = {
    {0, "2.0"}, {2, ""}, {5, "NULL"}, {5, "PLAIN"}, {6, text(key(2))}, {6, "short"}};
  for (const auto& [at, value] : changes) {
    auto bad = good;
    bad[at] = value;
    CHECK_FALSE(judge_zap(bad, allowed).allowed);
  }
  good.push_back("more");
  CHECK_FALSE(judge_zap(good, allowed).allowed);
  CHECK_FALSE(judge_zap({}, allowed).allowed);
}

TEST_CASE("pauses double to the limit, shrink by at most half, and begin again after success") {
  redial pauses{100ms, 5s};
  CHECK(pauses.after(lost_reason::disconnected, 0) == 100ms);
  CHECK(pauses.after(lost_reason::disconnected, 0) == 200ms);
  CHECK(pauses.after(lost_reason::disconnected, 511) > 200ms);
  for (int i = 0; i < 10; ++i)
    CHECK(pauses.after(lost_reason::disconnected, 0) <= 5s);
  CHECK(pauses.after(lost_reason::disconnected, 0) == 5s);
  pauses.succeeded();
  CHECK(pauses.after(lost_reason::disconnected, 0) == 100ms);
}

TEST_CASE("a refused or doubled key waits the longest pause at once") {
  for (auto reason : {lost_reason::refused, lost_reason::superseded})
    CHECK(redial{100ms, 5s}.after(reason, 0) == 5s);
}

TEST_CASE("session numbers grow when the wall clock stands still or goes back") {
  CHECK(next_session(0, 1'000) == 1'000);
  CHECK(next_session(1'000, 1'000) == 1'001);
  CHECK(next_session(1'000, 10) == 1'001);
}

TEST_CASE("an older epoch's command is refused, an equal or newer one is not") {
  epoch_gate gate{5};
  CHECK_FALSE(gate.lets_in(stop_replica{.epoch = 4}));
  CHECK(gate.lets_in(stop_replica{.epoch = 5}));
  CHECK(gate.lets_in(stop_replica{.epoch = 7}));
  CHECK_FALSE(gate.lets_in(stop_replica{.epoch = 6}));
  gate.saw(9);
  CHECK_FALSE(gate.lets_in(stop_replica{.epoch = 8}));
  CHECK(gate.lets_in(adopt_outcome{}));
}

} // namespace assay::fabric
