// Joins of members, joins that are sent on, and what of a join never reaches the ledger.

#include "src/base/peer_limits.hpp"
#include "src/fabric/join_checks.hpp"
#include "tests/unit/fabric/stage.hpp"

#include <future>

namespace assay::fabric {

namespace {

using namespace test;

joining_member a_member() {
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

joined_cluster a_cluster(const public_key& key) {
  return {
    .cluster = new_uuid7(),
    .name = "site",
    .node = 2,
    .members =
      {{1, "c1", "10.0.0.1:7104", key, "disk-1", true},
       {2, "c2", "10.0.0.2:7104", key, "disk-2", false}},
  };
}

join_token token_at(const site& s, const std::string& address) {
  return {address, s.server.shared, s.token};
}

std::future<result<joined_cluster, problem>> joining(const join_token& token, const site& s) {
  return std::async(std::launch::async, [=] {
    return join_as_member(token, a_member(), s.h1.shared, patience);
  });
}

/// Follows; all of one site have its key.
hub_options follower(const site& s, std::optional<coordinator_at> leader) {
  auto options = s.hub();
  options.standing = {.leads = false, .leader = std::move(leader)};
  return options;
}

} // namespace

TEST_CASE("a member's join reaches the ledger as it was asked, and the answer the member") {
  site s;
  coordinator c{s.hub()};
  auto asking = joining(token_at(s, c.fabric->address()), s);
  REQUIRE(c.joins.wait_for_count(1));
  auto asked = c.joins.all()[0];
  CHECK(asked.token == s.token.shared);
  CHECK(asked.name == "c2");
  CHECK(asked.key == s.h1.shared);
  CHECK(asked.member == a_member());
  auto told = a_cluster(s.server.shared);
  c.fabric->answer(asked.number, {.accepted = true, .identity = {"c2"}, .cluster = told});
  auto answer = asking.get();
  REQUIRE(answer);
  CHECK(*answer == told);
}

TEST_CASE("a member that was taken for a host, or told what cannot be dialled, has not joined") {
  site s;
  auto unusable = a_cluster(s.server.shared);
  unusable.members[0].peers = "nowhere";
  for (const auto& told :
       {joined{true, {"c2"}, ""}, joined{.accepted = true, .cluster = unusable}}) {
    coordinator c{s.hub()};
    auto asking = joining(token_at(s, c.fabric->address()), s);
    REQUIRE(c.joins.wait_for_count(1));
    c.fabric->answer(c.joins.all()[0].number, told);
    auto answer = asking.get();
    REQUIRE_FALSE(answer);
    CHECK(answer.error().kind == problem_kind::refused);
  }
}

TEST_CASE("a join at a follower goes on at the leader with the same token") {
  site s;
  coordinator leader{s.hub()};
  coordinator c{follower(s, s.at(leader.fabric->address()))};
  auto asking = joining(token_at(s, c.fabric->address()), s);
  REQUIRE(leader.joins.wait_for_count(1));
  CHECK(leader.joins.all()[0].token == s.token.shared);
  leader.fabric->answer(
    leader.joins.all()[0].number, {.accepted = true, .cluster = a_cluster(s.server.shared)}
  );
  CHECK(asking.get());
  CHECK(c.joins.all().empty());
}

TEST_CASE("a join that waits when its coordinator ceases to lead goes on at the leader") {
  site s;
  coordinator next{s.hub()};
  coordinator c{s.hub()};
  auto asking = joining(token_at(s, c.fabric->address()), s);
  REQUIRE(c.joins.wait_for_count(1));
  c.fabric->set_standing({.leads = false, .leader = s.at(next.fabric->address())});
  REQUIRE(next.joins.wait_for_count(1));
  next.fabric->answer(
    next.joins.all()[0].number, {.accepted = true, .cluster = a_cluster(s.server.shared)}
  );
  CHECK(asking.get());
}

TEST_CASE("a leader that does not hold the key it was named with is not told of the join") {
  site s;
  coordinator impostor{site{}.hub()};
  coordinator c{follower(s, s.at(impostor.fabric->address()))};
  auto answer = joining(token_at(s, c.fabric->address()), s).get();
  REQUIRE_FALSE(answer);
  CHECK(answer.error().kind == problem_kind::unavailable);
  CHECK(impostor.joins.all().empty());
}

TEST_CASE("a join is sent on three times and not a fourth") {
  site s;
  coordinator leader{s.hub()};
  std::vector<std::unique_ptr<coordinator>> chain;
  auto last = leader.fabric->address();
  for (int i = 0; i < 4; ++i) {
    chain.push_back(std::make_unique<coordinator>(follower(s, s.at(last))));
    last = chain.back()->fabric->address();
  }
  auto too_far = joining(token_at(s, chain[3]->fabric->address()), s).get();
  REQUIRE_FALSE(too_far);
  CHECK(too_far.error().kind == problem_kind::unavailable);
  CHECK(leader.joins.all().empty());
  auto asking = joining(token_at(s, chain[2]->fabric->address()), s);
  REQUIRE(leader.joins.wait_for_count(1));
  leader.fabric->answer(
    leader.joins.all()[0].number, {.accepted = true, .cluster = a_cluster(s.server.shared)}
  );
  CHECK(asking.get());
}

TEST_CASE("a join where nobody leads is refused with what to do") {
  site s;
  coordinator c{follower(s, {})};
  auto answer = joining(token_at(s, c.fabric->address()), s).get();
  REQUIRE_FALSE(answer);
  CHECK(answer.error().what.find("run the command again") != std::string::npos);
}

TEST_CASE("a host that joined is told of all coordinators") {
  site s;
  auto options = s.hub();
  options.standing.coordinators = {s.at("10.0.0.1:7103"), s.at("10.0.0.2:7103")};
  coordinator c{options};
  auto asking = std::async(std::launch::async, [&] {
    return join_cluster(token_at(s, c.fabric->address()), "h9", s.h1.shared, patience);
  });
  REQUIRE(c.joins.wait_for_count(1));
  CHECK_FALSE(c.joins.all()[0].member);
  c.fabric->answer(c.joins.all()[0].number, {true, {"h9"}, ""});
  auto answer = asking.get();
  REQUIRE(answer);
  CHECK(answer->coordinators == options.standing.coordinators);
}

TEST_CASE("a member's parts each have a form, and another one is named in the refusal") {
  CHECK_FALSE(fault_of(join{"c2", {}, a_member()}));
  struct wrong {
    std::string joining_member::*part;
    std::string value;
    std::string named;
  };
  const wrong all[] = {
    {&joining_member::name, "c3", "c3"},
    {&joining_member::peers, "", "peer links"},
    {&joining_member::peers, "10.0.0.2", "peer links"},
    {&joining_member::peers, std::string(limits::peer_address_bytes - 4, 'a') + ":7104", "256"},
    {&joining_member::agents, "*:7103", "hub"},
    {&joining_member::ingress, "10.0.0.2:0", "ingress"},
    {&joining_member::signing_public, std::string(63, 'a'), "64 hexadecimal"},
    {&joining_member::signing_public, std::string(64, 'g'), "64 hexadecimal"},
    {&joining_member::disk, "", "disk"},
    {&joining_member::disk, "a b", "disk"},
  };
  for (const auto& [part, value, named] : all) {
    auto member = a_member();
    member.*part = value;
    INFO(value);
    auto fault = fault_of(join{"c2", {}, member});
    REQUIRE(fault);
    CHECK(fault->find(named) != std::string::npos);
  }
  auto longest = a_member();
  longest.peers = std::string(limits::peer_address_bytes - 5, 'a') + ":7104";
  longest.agents.clear();
  longest.ingress.clear();
  CHECK_FALSE(fault_of(join{"c2", {}, longest}));
}

TEST_CASE("a member of a wrong form never reaches the ledger") {
  site s;
  coordinator c{s.hub()};
  auto peer = s.peer(c.fabric->address(), s.token);
  REQUIRE(peer.wait_for_event() == line_event::established);
  auto member = a_member();
  member.peers = "10.0.0.2";
  peer.say(join{"c2", s.h1.shared, member});
  auto told = peer.listen();
  REQUIRE(told);
  CHECK_FALSE(std::get<joined>(*told).accepted);
  CHECK(std::get<joined>(*told).text.find("peer links") != std::string::npos);
  CHECK(c.joins.all().empty());
}

TEST_CASE("a member that could never join does not even dial") {
  site s;
  auto member = a_member();
  member.disk = "";
  auto answer = join_as_member(token_at(s, "127.0.0.1:1"), member, s.h1.shared, patience);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().kind == problem_kind::invalid);
}

} // namespace assay::fabric
