// POOL COORDINATOR on a stage: links, ingresses and listeners only listen, the ledger applies for
// real. What the pool decides is tested in tests/unit/pool; here, who hears of it and when.

#include "actors/pool_coordinator.hpp"
#include "src/base/limits.hpp"
#include "tests/support/fake_actors.hpp"
#include "tests/support/fake_ledger.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay {

namespace {

using namespace std::chrono_literals;
using ledger::test::impl_a;
const pool_id cpu_a{"cpu-a"};
const host_id h1{"h1"};
const ingress_id one{"in-1"};
const ingress_id two{"in-2"};

struct scene {
  test::stage stage;
  test::fake_ledger ledger{stage};
  test::inbox_ptr at_link = test::new_inbox();
  test::inbox_ptr at_one = test::new_inbox();
  test::inbox_ptr at_two = test::new_inbox();
  test::inbox_ptr at_listener = test::new_inbox();
  node_link_actor link = stage.system.spawn(test::fake_link, at_link);
  ingress_actor ingress_one = stage.system.spawn(test::fake_ingress, at_one);
  ingress_actor ingress_two = stage.system.spawn(test::fake_ingress, at_two);
  pool_listener listener = stage.system.spawn(test::fake_pool_listener, at_listener);
  pool_actor pool =
    stage.system.spawn(pool_behavior, pool_options{.pool = cpu_a, .epoch = 3, .may_hold = {}});

  scene() { ledger.tell(pool); }
  ~scene() {
    stage.end(pool);
    stage.end(listener);
    stage.end(ingress_two);
    stage.end(ingress_one);
    stage.end(link);
  }

  template <class Message>
  void tell(Message what) {
    stage.self->send(pool, std::move(what));
    stage.settle();
  }
  void event(pool::event what) { tell(std::move(what)); }

  void introduce_link() { tell(link_up{h1, link}); }
  void introduce_ingresses() {
    tell(ingress_up{one, ingress_one});
    tell(ingress_up{two, ingress_two});
  }
  void report(const ingress_id& who) {
    event(pool::ingress_reported{.ingress = who, .holdings = {}, .settled = {}});
  }

  /// The host has the files and runs nothing.
  void host() {
    pool::host_reported what{.host = h1, .session = 1};
    what.verified = {manifest_digest(ledger::test::artifact_a())};
    what.running.emplace();
    event(what);
  }
  std::vector<pool::start_replica> starts() const { return at_link->of<pool::start_replica>(); }
  std::vector<pool::stop_replica> stops() const { return at_link->of<pool::stop_replica>(); }

  /// What was started first is ready now.
  void ready() {
    REQUIRE_FALSE(starts().empty());
    auto start = starts().front();
    event(pool::replica_reported{
      .replica = start.replica,
      .host = h1,
      .session = 1,
      .implementation = impl_a,
      .generation = start.generation,
      .phase = pool::phase::ready,
      .address = "127.0.0.1:7200",
      .secret = {},
      .fingerprint = {},
      .slots = 4,
      .devices = {},
      .launch = {},
      .reason = {}});
  }
  void serve() {
    introduce_link();
    host();
    ready();
  }

  void ask_for_ticket(const ingress_id& who, steady_time::duration patience) {
    pool::ticket_asked ticket{.ingress = who, .ticket = 1};
    ticket.acceptable = {impl_a};
    ticket.deadline = stage.system.clock().now() + patience;
    event(ticket);
  }
  pool::pool_view look() { return *stage.ask<pool_changed>(pool, pool_question{}).view; }
};

} // namespace

TEST_CASE("what the ledger wants is started at the link of its host, under the pool's epoch") {
  scene s;
  s.introduce_link();
  CHECK(s.starts().empty());
  s.host();
  REQUIRE(s.starts().size() == 1);
  CHECK(s.starts()[0].launch.implementation == impl_a);
  CHECK(s.starts()[0].epoch == 3);
  s.ready();
  s.stage.pass(limits::start_unheard);
  CHECK(s.starts().size() == 1);
}

TEST_CASE("a start that found no link reaches the one that comes") {
  scene s;
  s.host();
  s.introduce_link();
  CHECK(s.starts().empty());
  s.stage.pass(limits::start_unheard);
  CHECK(s.starts().size() == 1);
}

TEST_CASE("what the ledger wants no more is stopped") {
  scene s;
  s.serve();
  CHECK(s.stops().empty());
  s.ledger.must(ledger::retired{ledger::declaration_kind::implementation, impl_a.value});
  REQUIRE(s.stops().size() == 1);
  CHECK(s.stops()[0].generation == s.starts()[0].generation);
}

TEST_CASE("a link that introduces itself anew is the one that hears from then on") {
  scene s;
  s.serve();
  auto at_new = test::new_inbox();
  auto next = s.stage.system.spawn(test::fake_link, at_new);
  s.tell(link_up{h1, next});
  s.ledger.must(ledger::retired{ledger::declaration_kind::implementation, impl_a.value});
  CHECK(s.stops().empty());
  CHECK(at_new->of<pool::stop_replica>().size() == 1);
  s.stage.end(next);
}

TEST_CASE("a listener hears the pool as it is, then each change, and nothing while time passes") {
  scene s;
  s.serve();
  s.tell(listen_to_pool{s.listener});
  auto heard = s.at_listener->of<pool_changed>();
  REQUIRE(heard.size() == 1);
  CHECK(heard[0].view->replicas.at(0).takes_traffic);
  s.stage.pass(limits::pool_tick);
  s.stage.pass(limits::pool_tick);
  CHECK(s.at_listener->of<pool_changed>().size() == 1);
  s.ledger.must(ledger::retired{ledger::declaration_kind::implementation, impl_a.value});
  auto last = s.at_listener->of<pool_changed>().back().view;
  CHECK_FALSE(last->replicas.at(0).takes_traffic);
  CHECK(last->replicas == s.look().replicas);
}

TEST_CASE("leases go to the ingresses that report, to each its own") {
  scene s;
  s.introduce_ingresses();
  s.serve();
  CHECK(s.at_one->of<pool::grant_lease>().empty());
  s.report(one);
  auto first = s.at_one->of<pool::grant_lease>();
  REQUIRE_FALSE(first.empty());
  CHECK(first.back().grant.credits == 4);
  CHECK(s.at_two->of<pool::grant_lease>().empty());
  s.report(two);
  CHECK(s.at_one->of<pool::grant_lease>().back().grant.credits < 4);
  for (const auto& lease : s.at_two->of<pool::grant_lease>())
    CHECK(lease.ingress == two);
}

TEST_CASE("a lease is renewed by the pool's own clock, long before it ends") {
  scene s;
  s.introduce_ingresses();
  s.serve();
  s.report(one);
  auto before = s.at_one->of<pool::grant_lease>().back();
  s.stage.pass(limits::lease_renew);
  auto after = s.at_one->of<pool::grant_lease>().back();
  CHECK(after.number > before.number);
  CHECK(after.grant.until > before.grant.until);
}

TEST_CASE("a ticket is answered at the ingress that asked") {
  scene s;
  s.introduce_ingresses();
  SECTION("at once when nothing could serve it") {
    s.ask_for_ticket(one, 10s);
    auto refused = s.at_one->of<pool::refuse_ticket>();
    REQUIRE(refused.size() == 1);
    CHECK(refused[0].why == pool::ticket_refusal::no_replica);
  }
  SECTION("when the replica that it waits for is ready") {
    s.introduce_link();
    s.host();
    s.report(one);
    s.ask_for_ticket(one, 10s);
    CHECK(s.at_one->of<pool::admit_ticket>().empty());
    s.ready();
    CHECK(s.at_one->of<pool::admit_ticket>().size() == 1);
  }
  SECTION("when its time is over, which the pool sees by itself") {
    s.introduce_link();
    s.host();
    s.ask_for_ticket(one, 10s);
    CHECK(s.at_one->of<pool::refuse_ticket>().empty());
    s.stage.pass(10s);
    auto refused = s.at_one->of<pool::refuse_ticket>();
    REQUIRE(refused.size() == 1);
    CHECK(refused[0].why == pool::ticket_refusal::waited_too_long);
  }
  CHECK(s.at_two->empty());
}

} // namespace assay
