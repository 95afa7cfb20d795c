// MOVER on a stage, with the real INGRESS and a ledger that applies for real.

#include "actors/ingress.hpp"
#include "actors/mover.hpp"
#include "src/base/peer_limits.hpp"
#include "tests/support/fake_ledger.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay {

namespace {

using ledger::test::impl_a;
using ledger::test::impl_b;
using status = catalog::implementation_status;
using namespace std::chrono_literals;
const model_id m{"m"};
const ledger::author operator_of_it{"op", ledger::authentication::socket};

ledger::test::world qualified_site() {
  auto w = ledger::test::world::site();
  w.now = std::max(w.now, wall_now());
  ledger::test::qualify(w, {"qa"}, impl_a);
  ledger::test::qualify(w, {"qb"}, impl_b);
  return w;
}

struct scene {
  test::stage stage;
  test::fake_ledger ledger{stage, qualified_site()};
  ingress_actor ingress = stage.system.spawn(
    ingress_behavior,
    ingress_options{
      {"in"},
      std::make_shared<pool::endpoint_registry>(),
      [](std::shared_ptr<const routing::routing_snapshot>) {},
      [](const std::vector<routing::outcome>&) {}}
  );
  /// Ingresses of other processes, as SERVICE LINKS would tell of them.
  std::vector<ledger::ingress_runs> elsewhere;
  service_links_actor service = stage.system.spawn(
    [](service_links_actor::pointer, scene* at) -> service_links_actor::behavior_type {
      return {
        [](const standing&) {},
        [](const peer_up&) {},
        [](const peer_down&) {},
        [](const peer_said&) {},
        [](const local_pools&) {},
        [](service_question) { return service_answer{}; },
        [at](routes_question) { return routes_answer{at->elsewhere}; },
        [](tick) {},
      };
    },
    this
  );
  mover_actor mover = make();

  scene() { ledger.tell(ingress); }
  ~scene() {
    stage.end(mover);
    stage.end(service);
    stage.end(ingress);
  }

  mover_actor make() {
    auto made =
      stage.system.spawn(mover_behavior, mover_options{ledger.actor, ingress, service, 1});
    ledger.tell(made);
    return made;
  }

  /// A replica of each takes traffic on the stack that it is qualified for.
  void ready() {
    pool::pool_view view;
    view.pool = {"cpu-a"};
    for (const auto& id : {impl_a, impl_b}) {
      pool::replica_view one;
      one.implementation = id;
      one.takes_traffic = true;
      one.fingerprint = ledger::test::some_digest("stack 1");
      view.replicas.push_back(one);
    }
    stage.self->send(mover, pool_changed{std::make_shared<const pool::pool_view>(view)});
    stage.settle();
  }

  void pass() {
    for (int i = 0; i < 5; ++i)
      stage.pass(limits::mover_tick);
  }
  move_answer promote(const implementation_id& id, status wanted = status::production) {
    return stage.ask<move_answer>(mover, assay::promote{id, wanted, operator_of_it, "test"});
  }
  move_answer reverse(const move_id& id) {
    return stage.ask<move_answer>(mover, assay::reverse{id, operator_of_it, "test"});
  }
  moves::state state_of(const move_id& id) { return ledger.world.t.moves->at(id).state; }
  moves::vectors carried() { return ledger.world.t.routes->at(m).route.carried; }
};

} // namespace

TEST_CASE("a move goes from proposed to committed by events that the ledger accepts") {
  scene s;
  s.ready();
  auto answer = s.promote(impl_a);
  REQUIRE(answer.what);
  s.pass();
  CHECK(s.state_of(*answer.what) == moves::state::committed);
  CHECK(moves::carriers(s.carried()) == std::vector{impl_a});
  CHECK(s.ledger.refused.empty());
}

TEST_CASE("a move to something that does not run waits, and goes on when it does") {
  scene s;
  auto answer = s.promote(impl_a);
  REQUIRE(answer.what);
  s.pass();
  CHECK(moves::is_open(s.state_of(*answer.what)));
  CHECK_FALSE(s.ledger.world.t.routes->contains(m));
  s.ready();
  s.pass();
  CHECK(s.state_of(*answer.what) == moves::state::committed);
}

TEST_CASE("a move waits for the ingress of every member, and names the one it waits for") {
  scene s;
  auto add = [&](std::uint64_t id, std::string name) {
    s.ledger.world.t.head.members.push_back(
      {.id = id, .name = std::move(name), .ingress = "127.0.0.1:1"}
    );
  };
  add(1, "n1");
  add(2, "n2");
  s.ledger.publish();
  s.ready();
  s.elsewhere = {{2, "n2", 1, s.stage.system.clock().now()}};
  auto answer = s.promote(impl_a);
  REQUIRE(answer.what);
  s.pass();
  CHECK(s.state_of(*answer.what) == moves::state::ramping);

  SECTION("until it routes by the new records") {
    s.elsewhere[0].seq = s.ledger.world.t.head.seq;
    s.pass();
    CHECK(s.state_of(*answer.what) == moves::state::committed);
    const auto acked = s.ledger.all<ledger::move_acked>().back();
    CHECK(acked.nodes == std::vector<ledger::acknowledgement>{{"in", 1}, {"n2", 1}});
  }
  SECTION("or holds no credit any more") {
    for (auto waited = 5s; waited < limits::ingress_gone; waited += 1s)
      s.stage.pass(limits::mover_tick);
    s.pass();
    CHECK(s.state_of(*answer.what) == moves::state::committed);
    CHECK(s.ledger.all<ledger::move_acked>().back().nodes.size() == 1);
  }
  SECTION("but not longer than it is silent: one that goes on with the old ones is waited for") {
    for (int i = 0; i < 40; ++i) {
      s.elsewhere[0].heard_at = s.stage.system.clock().now();
      s.stage.pass(limits::mover_tick);
    }
    CHECK(s.state_of(*answer.what) != moves::state::committed);
  }
}

TEST_CASE("a new MOVER goes on where the old one stopped") {
  scene s;
  auto answer = s.promote(impl_a);
  REQUIRE(answer.what);
  s.pass();
  s.stage.end(s.mover);
  s.mover = s.make();
  s.ready();
  s.pass();
  CHECK(s.state_of(*answer.what) == moves::state::committed);
  CHECK(s.ledger.refused.empty());
}

TEST_CASE("reverse aborts a move that is open") {
  scene s;
  auto answer = s.promote(impl_a);
  REQUIRE(answer.what);
  s.pass();
  REQUIRE(s.reverse(*answer.what).what);
  s.pass();
  CHECK_FALSE(moves::is_open(s.state_of(*answer.what)));
  CHECK(s.state_of(*answer.what) != moves::state::committed);
}

TEST_CASE("the end of an open move is acknowledged once it is on record, in the asker's name") {
  scene s;
  auto answer = s.promote(impl_a);
  REQUIRE(answer.what);
  s.pass();
  s.ledger.is_held = true;
  auto end = s.stage.self->request(
    s.mover, caf::infinite, assay::reverse{*answer.what, operator_of_it, "enough"}
  );
  s.stage.settle();
  CHECK(s.stage.self->mailbox().empty()); // Nothing is acknowledged that a crash could undo.
  s.ledger.is_held = false;
  s.ledger.release();
  s.pass();
  auto is_acknowledged = false;
  end.receive(
    [&](const move_answer& done) { is_acknowledged = done.what.has_value(); },
    [](const caf::error&) {}
  );
  CHECK(is_acknowledged);
  CHECK(s.state_of(*answer.what) == moves::state::cancelled);
  CHECK(s.ledger.taken.back().author.who == operator_of_it.who);
}

TEST_CASE("an event is proposed once, whatever else comes on record before it is answered") {
  scene s;
  s.ready();
  s.ledger.is_held = true;
  promote wanted{impl_a, status::production, operator_of_it, "test"};
  auto pending = s.stage.self->request(s.mover, caf::infinite, wanted);
  s.stage.settle();
  s.ledger.release(); // The move itself.
  s.stage.settle();
  REQUIRE(s.ledger.waiting() == 1);
  s.ledger.must(ledger::key_issued{{"k"}, sha256("k"), false, {}, {}});
  CHECK(s.ledger.waiting() == 1);
  s.ledger.is_held = false;
  s.ledger.release();
  s.pass();
  pending.receive(
    [&](const move_answer& answer) { CHECK(s.state_of(*answer.what) == moves::state::committed); },
    [](const caf::error& why) { FAIL(to_string(why)); }
  );
  CHECK(s.ledger.refused.empty());
}

TEST_CASE("reverse undoes a move that is committed, once") {
  scene s;
  s.ready();
  REQUIRE(s.promote(impl_a).what);
  s.pass();
  auto before = s.carried();
  auto canary = s.promote(impl_b, status::canary);
  REQUIRE(canary.what);
  s.pass();
  REQUIRE(moves::carriers(s.carried()).size() == 2);
  REQUIRE(s.reverse(*canary.what).what);
  s.pass();
  CHECK(s.carried() == before);
  CHECK_FALSE(s.reverse(*canary.what).what);
}

TEST_CASE("a canary gets the share that was asked for, and the move its times") {
  scene s;
  s.ready();
  REQUIRE(s.promote(impl_a).what);
  s.pass();
  moves::promotion_options how{.share = 2'500, .hold = 1h, .bake = 2h};
  auto canary = s.stage.ask<move_answer>(
    s.mover, assay::promote{impl_b, status::canary, operator_of_it, "test", how}
  );
  REQUIRE(canary.what);
  s.pass();
  const auto& plan = s.ledger.world.t.moves->at(*canary.what).plan;
  CHECK(plan.steps.front().hold_ms == 3'600'000);
  CHECK(plan.bake_ms == 7'200'000);
  CHECK(moves::to_text(s.carried()).find("m/cpu-b/a 25 %") != std::string::npos);
  CHECK(s.state_of(*canary.what) == moves::state::holding);
}

TEST_CASE("what does not exist is neither promoted nor reversed") {
  scene s;
  CHECK(s.promote({"m/cpu-a/x"}).what.error().kind == problem_kind::not_found);
  CHECK(s.reverse({"m-x"}).what.error().kind == problem_kind::not_found);
  CHECK(s.ledger.taken.empty());
}

} // namespace assay
