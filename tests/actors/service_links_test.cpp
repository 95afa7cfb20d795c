// Three assayd on one stage (tests/support/serving_group.hpp): what an ingress has while leaders
// come and go elsewhere, and here.

#include "src/base/peer_limits.hpp"
#include "tests/support/serving_group.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace assay {

namespace {

using namespace std::chrono_literals;
using ledger::test::impl_a;
using ledger::test::impl_b;

/// Coordinator 1 leads epoch 5, and each of three ingresses has credits of the one replica.
struct scene : test::serving_group {
  scene() {
    lead(1, 5);
    agent_comes(1);
    pass(limits::lease_renew + limits::pool_tick);
    REQUIRE(all_credits() == slots);
  }
  bool is_admitted(std::uint64_t node, std::size_t answer = 0) {
    return std::holds_alternative<pool::admit_ticket>(at(node).answers.at(answer));
  }
  void everyone_serves() {
    for (auto node : {1, 2, 3}) {
      CAPTURE(node);
      CHECK(has_endpoint(node));
      CHECK(credits(node) >= 1);
    }
  }
};

} // namespace

TEST_CASE("an ingress on a follower has the leader's replicas and credits of them") {
  scene s;
  s.everyone_serves();
  CHECK(s.service(1).ingresses == 2);
  CHECK(s.service(2).has_pools);
  auto one = s.use(2);
  CHECK(one);
  s.pass(1s);
  CHECK(s.replica(1).in_flight == 1);
  CHECK(s.stopped.empty());
}

TEST_CASE("leases of a follower's ingress are renewed as long as both ways are up") {
  scene s;
  s.pass(3 * limits::lease_life);
  s.everyone_serves();
  CHECK(s.service(2).late == 0);
  CHECK(s.service(2).misplaced == 0);
}

TEST_CASE("a follower's ticket is admitted by the leader's pool, and refused by one with nothing") {
  scene s;
  s.want(2, 1, impl_a);
  REQUIRE(s.at(2).answers.size() == 1);
  CHECK(s.is_admitted(2));
  s.pass(limits::unwatched); // The pools' agents have had their time.
  s.want(2, 2, impl_b);
  REQUIRE(s.at(2).answers.size() == 2);
  CHECK_FALSE(s.is_admitted(2, 1));
  CHECK(std::get<pool::refuse_ticket>(s.at(2).answers[1]).why == pool::ticket_refusal::no_replica);
  CHECK(s.at(1).answers.empty());
  CHECK(s.at(3).answers.empty());
}

TEST_CASE("when the leader changes, every ingress serves on with the credits it has") {
  scene s;
  auto before = std::vector{s.credits(1), s.credits(2), s.credits(3)};
  auto in_flight = s.use(3);
  s.stand_still(6);
  s.pass(1s);
  s.everyone_serves();
  s.lead(2, 6);
  s.pass(2s); // The agent has not found the new leader yet.
  s.everyone_serves();
  CHECK(std::vector{s.credits(1), s.credits(2), s.credits(3)} == before);
  SECTION("and the new pool adopts what they hold as soon as it knows the replica") {
    s.agent_comes(2);
    CHECK(s.replica(2).credits == test::serving_group::slots);
    CHECK(s.replica(2).in_flight == 1);
    CHECK(std::vector{s.credits(1), s.credits(2), s.credits(3)} == before);
    s.pass(3 * limits::lease_life);
    s.everyone_serves();
  }
  SECTION("but not for ever when no agent comes to the new leader") {
    s.pass(limits::unwatched);
    for (auto node : {1, 2, 3})
      CHECK_FALSE(s.has_endpoint(node));
  }
}

TEST_CASE("what an ingress that was not heard yet may hold is granted to nobody else") {
  scene s;
  s.stand_still(6);
  s.cut(2, 3);
  s.lead(3, 6);
  s.agent_comes(3);
  auto others = s.credits(1) + s.credits(3);
  CHECK(others < test::serving_group::slots);
  s.pass(limits::lease_life - 2s);
  CHECK(s.credits(1) + s.credits(3) == others);
  s.pass(limits::lease_life);
  CHECK(s.credits(1) + s.credits(3) == test::serving_group::slots);
  CHECK(s.credits(2) == 0);
}

TEST_CASE("an ingress moves to the pools of its own process when that leads, and back") {
  scene s;
  auto before = s.credits(2);
  s.lead(2, 6);
  CHECK(s.service(2).has_pools);
  CHECK(s.service(2).ingresses == 2);
  s.everyone_serves();
  s.agent_comes(2);
  CHECK(s.replica(2).credits == test::serving_group::slots);
  CHECK(s.credits(2) == before);
  s.pass(2 * limits::lease_life);
  s.everyone_serves();
  s.lead(3, 7);
  s.everyone_serves();
  s.agent_comes(3);
  CHECK(s.replica(3).credits == test::serving_group::slots);
  s.pass(2 * limits::lease_life);
  s.everyone_serves();
  CHECK(s.service(2).ingresses == 0);
  CHECK(s.stopped.empty());
}

TEST_CASE("who waits for a turn waits on at the next leader, and is answered once") {
  scene s;
  std::vector<pool::reservation> busy;
  for (auto node : {1, 2, 3})
    while (auto one = s.use(node))
      busy.push_back(std::move(one));
  s.pass(1s);
  s.want(2, 1, impl_a);
  CHECK(s.at(2).answers.empty());
  auto to = GENERATE(std::uint64_t{2}, std::uint64_t{3});
  s.lead(to, 6);
  s.agent_comes(to);
  CHECK(s.at(2).answers.empty());
  busy.clear();
  s.pass(1s);
  REQUIRE(s.at(2).answers.size() == 1);
  CHECK(s.is_admitted(2));
}

TEST_CASE("late words of a leader that was are dropped and counted") {
  scene s;
  s.lead(3, 6);
  s.agent_comes(3);
  s.pass(1s);
  auto before = s.credits(2);
  peers::lease lease{
    .epoch = 5, .pool = s.pool, .endpoint = s.endpoint, .credits = 99, .number = 1};
  lease.heard = std::chrono::floor<std::chrono::milliseconds>(s.now().time_since_epoch());
  lease.left = 10s;
  auto was = s.service(2);
  s.say(1, 2, lease);
  CHECK(s.credits(2) == before);
  CHECK(s.service(2).late == was.late + 1);
  SECTION("whoever does not lead the epoch is not heard either, even with its number") {
    lease.epoch = 6;
    s.say(1, 2, lease);
    CHECK(s.credits(2) == before);
    CHECK(s.service(2).misplaced == was.misplaced + 1);
  }
  SECTION("nor what an ingress says to somebody who led") {
    auto old = s.service(1);
    s.say(2, 1, peers::ingress_hello{5, {"in-2"}, 1});
    s.say(2, 1, peers::ingress_report{.epoch = 6, .pool = s.pool});
    CHECK(s.service(1).late == old.late + 1);
    CHECK(s.service(1).misplaced == old.misplaced + 1);
    CHECK(s.service(1).ingresses == 0);
  }
}

TEST_CASE("the credits of an ingress that is gone come back when its last lease has run out, and "
          "it has some again when it is back") {
  scene s;
  auto gone = s.credits(2);
  REQUIRE(gone > 0);
  SECTION("when it is not reached") {
    s.cut(1, 2);
  }
  SECTION("when it is not heard") {
    s.cut(2, 1);
  }
  s.pass(limits::ingress_silence - 1s);
  CHECK(s.credits(1) + s.credits(3) == test::serving_group::slots - gone);
  s.pass(limits::lease_life + 2s);
  CHECK(s.credits(2) == 0);
  CHECK(s.credits(1) + s.credits(3) == test::serving_group::slots);
  s.mend(1, 2);
  s.mend(2, 1);
  s.pass(limits::lease_life);
  s.everyone_serves();
}

TEST_CASE("an ingress that was out of reach for a moment has all it had, and asks again") {
  scene s;
  std::vector<pool::reservation> busy;
  for (auto node : {1, 2, 3})
    while (auto one = s.use(node))
      busy.push_back(std::move(one));
  s.pass(1s);
  s.want(2, 1, impl_a);
  auto before = s.credits(2);
  s.cut(1, 2);
  s.cut(2, 1);
  s.want(2, 2, impl_a); // Reaches nobody.
  busy.clear();
  s.pass(1s);
  CHECK(s.at(2).answers.empty());
  s.mend(2, 1);
  s.mend(1, 2);
  s.pass(1s);
  CHECK(s.at(2).answers.size() == 2);
  CHECK(s.credits(2) >= std::min(before, 1U));
}

TEST_CASE("a hello is said again until the leader knows that it leads") {
  test::serving_group s;
  caf::anon_send(s.at(2).service, standing{false, 5, 1});
  s.stage.settle();
  CHECK_FALSE(s.service(2).has_pools);
  CHECK(s.service(1).misplaced == 1);
  s.make_supervisor(1, 5);
  s.stage.pass(limits::service_hello_every);
  CHECK_FALSE(s.service(2).has_pools);
  caf::anon_send(s.at(1).service, standing{true, 5, 1});
  s.stage.pass(limits::service_hello_every);
  CHECK(s.service(2).has_pools);
}

TEST_CASE("the pools of a SUPERVISOR whose epoch is over are not used") {
  test::serving_group s;
  s.lead(1, 6);
  caf::anon_send(s.at(1).service, local_pools{5, {}});
  s.stage.settle();
  s.agent_comes(1);
  s.pass(1s);
  CHECK(s.has_endpoint(1));
  CHECK(s.has_endpoint(2));
}

TEST_CASE("the leader knows by which records each ingress of another process routes") {
  scene s;
  auto runs = [&](std::uint64_t by) {
    return s.stage.ask<routes_answer>(s.at(by).service, routes_question{}).ingresses;
  };
  s.pass(limits::usage_report_every);
  auto head = s.ledger.world.t.head.seq;
  REQUIRE(head > 0);
  auto all = runs(1);
  REQUIRE(all.size() == 2);
  CHECK(all[0].node == 2);
  CHECK(all[0].name == "in-2");
  CHECK(all[0].seq == head);
  CHECK(all[0].heard_at == s.now());
  CHECK(all[1].seq == head);
  CHECK(runs(2).empty()); // It does not lead.

  SECTION("one that is cut off is as it was heard last") {
    s.cut(2, 1);
    auto heard = runs(1)[0].heard_at;
    s.ledger.must(ledger::key_issued{{"k"}, sha256("k"), false, {}, {}});
    s.pass(1s);
    CHECK(runs(1)[0].seq == head);
    CHECK(runs(1)[0].heard_at == heard);
    CHECK(runs(1)[1].seq == s.ledger.world.t.head.seq);
  }
  SECTION("of one that began anew nothing is known until it reports") {
    s.cut(2, 1);
    s.say(2, 1, peers::ingress_hello{5, {"in-2"}, 2});
    CHECK_FALSE(runs(1)[0].seq);
  }
  SECTION("a report of another epoch, or of one that said no hello, changes nothing") {
    s.cut(2, 1);
    s.say(2, 1, peers::ingress_report{.epoch = 4, .pool = s.pool, .seq = 99});
    s.say(7, 1, peers::ingress_report{.epoch = 5, .pool = s.pool, .seq = 99});
    CHECK(runs(1)[0].seq == head);
    CHECK(runs(1).size() == 2);
  }
}

TEST_CASE("a process that claims the name of another's ingress gets no pools") {
  scene s;
  s.say(3, 1, peers::ingress_hello{5, {"in-2"}, 1});
  CHECK(s.service(1).conflicting == 1);
  s.say(3, 1, peers::ingress_hello{5, {"in-1"}, 1});
  CHECK(s.service(1).conflicting == 2);
  s.say(3, 1, peers::ingress_hello{5, {"in-3"}, 1});
  CHECK(s.service(1).conflicting == 2);
}

TEST_CASE("a pool that is declared or retired comes and goes at every ingress") {
  scene s;
  s.ledger.must(ledger::retired{ledger::declaration_kind::implementation, impl_a.value});
  s.ledger.must(ledger::retired{ledger::declaration_kind::pool, s.pool.value});
  s.pass(1s);
  for (auto node : {1, 2, 3})
    CHECK_FALSE(s.has_endpoint(node));
  s.want(2, 1, impl_a);
  REQUIRE(s.at(2).answers.size() == 1);
  CHECK_FALSE(s.is_admitted(2));
}

} // namespace assay
