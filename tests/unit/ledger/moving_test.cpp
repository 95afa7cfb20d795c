// Between the ledger's records of a move and what src/moves decides about it.

#include "src/base/peer_limits.hpp"
#include "src/ledger/moving.hpp"
#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::ledger::test {

namespace {

using namespace std::chrono_literals;
const model_id m{"m"};

struct moving_scene {
  world w = world::site();
  std::map<pool_id, std::shared_ptr<const pool::pool_view>> pools;
  steady_time now{1h};
  std::vector<ingress_runs> ingresses{{1, "in", 1'000, now}};
  std::map<move_id, moves::wish> wishes;

  moving_world around() { return {pools, ingresses, wishes, w.now, now}; }

  void replica(const implementation_id& id, std::string_view stack, bool takes_traffic = true) {
    pool::pool_view view{
      .pool = {"cpu-a"},
      .epoch = 1,
      .hosts = {},
      .replicas = {},
      .implementations = {},
      .queue = {}};
    pool::replica_view one;
    one.implementation = id;
    one.takes_traffic = takes_traffic;
    one.fingerprint = some_digest(stack);
    view.replicas.push_back(one);
    pools[{"cpu-a"}] = std::make_shared<const pool::pool_view>(std::move(view));
  }

  const move_row& proposed(const implementation_id& id) {
    auto plan =
      moves::plan_promotion(route_of(w.t, m), id, catalog::implementation_status::production);
    REQUIRE(plan);
    w.must(proposal_of(w.t, {"mv"}, *plan, "demo"));
    return w.t.moves->at({"mv"});
  }
  std::vector<implementation_id> ready() {
    return observe(w.t, w.t.moves->at({"mv"}), around()).ready;
  }
};

} // namespace

TEST_CASE("a plan comes back from the ledger as it went in") {
  moving_scene s;
  auto plan = *moves::plan_promotion(
    route_of(s.w.t, m),
    impl_a,
    catalog::implementation_status::production,
    {.share = {}, .hold = 5s, .bake = 90s, .guarded = true}
  );
  plan.inverse_of = move_id{"earlier"};
  CHECK(plan_of(proposal_of(s.w.t, {"mv"}, plan, "")) == plan);
  SECTION("when it cannot be undone, too") {
    plan.inverse.reversible = false;
    plan.inverse.irreversible_because = "the old weights are gone";
    plan.inverse.shed_load = false;
    CHECK(plan_of(proposal_of(s.w.t, {"mv"}, plan, "")) == plan);
  }
  SECTION("through the tables, too") {
    plan.inverse_of = {};
    s.w.must(proposal_of(s.w.t, {"mv"}, plan, ""));
    CHECK(open_move_of(s.w.t.moves->at({"mv"})).plan == plan);
  }
}

TEST_CASE("a model without a route has generation 0") {
  moving_scene s;
  CHECK(route_of(s.w.t, m) == moves::route{m, 0, {}});
}

TEST_CASE("only what is approved and qualified, or waived, may carry traffic") {
  moving_scene s;
  CHECK(usable_for(s.w.t, m, s.w.now).empty());
  qualify(s.w, {"q"}, impl_a);
  CHECK(usable_for(s.w.t, m, s.w.now) == std::vector{impl_a});
  s.w.must(waiver{"w1", impl_b, {5}, {s.w.now.value + 60'000}, "demo"});
  CHECK(usable_for(s.w.t, m, s.w.now) == std::vector{impl_a, impl_b});
  CHECK(usable_for(s.w.t, m, {s.w.now.value + 60'000}) == std::vector{impl_a});
}

TEST_CASE("a replica makes its implementation ready only on a stack it is qualified for") {
  moving_scene s;
  qualify(s.w, {"q"}, impl_a);
  s.proposed(impl_a);
  CHECK(s.ready().empty());
  s.replica(impl_a, "stack 2");
  CHECK(s.ready().empty());
  s.replica(impl_a, "stack 1", false);
  CHECK(s.ready().empty());
  s.replica(impl_a, "stack 1");
  CHECK(s.ready() == std::vector{impl_a});
}

TEST_CASE("under a waiver of evaluation any stack will do") {
  moving_scene s;
  s.w.must(waiver{"w1", impl_a, {5}, {s.w.now.value + 60'000}, "demo"});
  s.proposed(impl_a);
  s.replica(impl_a, "stack 2");
  CHECK(s.ready() == std::vector{impl_a});
}

TEST_CASE("an authorisation names the qualifications and waivers that it rests on") {
  moving_scene s;
  qualify(s.w, {"q"}, impl_a);
  const auto& row = s.proposed(impl_a);
  auto record = std::get<move_authorised>(
    record_of(s.w.t, row, {moves::event::authorise, {}, 0, ""}, s.around())
  );
  CHECK(record.qualifications == std::vector<qualification_id>{{"q"}});
  CHECK(record.waivers.empty());
  s.w.must(record);
}

TEST_CASE("a wish is seen") {
  moving_scene s;
  qualify(s.w, {"q"}, impl_a);
  const auto& row = s.proposed(impl_a);
  auto before = observe(s.w.t, row, s.around());
  CHECK(before.asked == moves::wish::none);
  s.wishes[{"mv"}] = moves::wish::abort;
  auto after = observe(s.w.t, row, s.around());
  CHECK(after.asked == moves::wish::abort);
}

TEST_CASE("the generation that is acknowledged is that of the ingress that is furthest behind") {
  moving_scene s;
  qualify(s.w, {"q"}, impl_a);
  promote(s.w, "first", impl_a, {"q"});
  const auto& route = s.w.t.routes->at(m);
  const auto& row = s.w.t.moves->at({"first"});
  REQUIRE(route.route.generation == 1);
  auto seen = [&] { return observe(s.w.t, row, s.around()); };
  auto record = [&] {
    return std::get<move_acked>(record_of(s.w.t, row, {moves::event::acked, {}, 0, ""}, s.around())
    );
  };
  s.ingresses = {{1, "in-1", route.seq, s.now}, {2, "in-2", route.seq + 7, s.now}};
  CHECK(seen().acknowledged == 1);
  CHECK(seen().not_waited_for.empty());
  CHECK(record().nodes == std::vector<acknowledgement>{{"in-1", 1}, {"in-2", 1}});

  SECTION("one that routes by older records") {
    s.ingresses[1].seq = route.seq - 1;
    CHECK(seen().acknowledged == 0);
    CHECK(seen().last == "in-2");
  }
  SECTION("one that has said nothing to this leader") {
    s.ingresses[1].seq.reset();
    CHECK(seen().acknowledged == 0);
    CHECK(seen().last == "in-2");
  }
  SECTION("one that has no routes serves nothing") {
    s.ingresses[1].seq = 0;
    CHECK(seen().acknowledged == 1);
    CHECK(record().nodes == std::vector<acknowledgement>{{"in-1", 1}});
  }
  SECTION("one that is silent until its last lease is over") {
    s.ingresses[1].seq = route.seq - 1;
    s.now += limits::ingress_gone - 1ms;
    s.ingresses[0].heard_at = s.now;
    CHECK(seen().acknowledged == 0);
    s.now += 1ms;
    CHECK(seen().acknowledged == 1);
    CHECK(seen().not_waited_for == "in-2");
    CHECK(record().nodes == std::vector<acknowledgement>{{"in-1", 1}});
  }
  SECTION("nobody is left: nothing is acknowledged") {
    s.now += limits::ingress_gone;
    CHECK(seen().acknowledged == 0);
    CHECK(seen().not_waited_for == "in-1, in-2");
  }
}

TEST_CASE("every member's ingress is looked at, whether it was heard or not") {
  tables t;
  auto add = [&](std::uint64_t id, std::string name, std::string ingress) {
    t.head.members.push_back({.id = id, .name = std::move(name), .ingress = std::move(ingress)});
  };
  add(1, "a", "127.0.0.1:1");
  add(2, "b", "127.0.0.1:2");
  add(3, "c", "127.0.0.1:3");
  add(4, "d", ""); // Without an ingress.
  steady_time began{1h};
  steady_time later{2h};
  ingress_runs own{1, "a", 5, later};
  ingress_runs other{3, "in-c", 4, later};
  ingress_runs removed{9, "gone", 1, later};
  CHECK(
    ingresses_of(t, 1, {other, removed, own}, began)
    == std::vector<ingress_runs>{own, {2, "b", {}, began}, other}
  );
  // Before anybody has answered, our own is waited for as well; as is one that is no member yet.
  CHECK(ingresses_of(t, 4, {}, began).size() == 4);
  CHECK(ingresses_of({}, 1, {own}, began) == std::vector<ingress_runs>{own});
}

TEST_CASE("a step of the route expects the generation that it saw") {
  moving_scene s;
  qualify(s.w, {"q"}, impl_a);
  const auto& row = s.proposed(impl_a);
  auto record = std::get<move_route_changed>(
    record_of(s.w.t, row, {moves::event::step, all_to(impl_a), 0, "go"}, s.around())
  );
  CHECK(record.generation == 1);
  CHECK(record.carried == all_to(impl_a));
}

TEST_CASE("a qualification is due at its hour, not a millisecond before, and only once") {
  moving_scene s;
  qualify(s.w, {"q"}, impl_a);
  auto at = s.w.t.qualifications->at({"q"}).expires_at;
  CHECK(due_records(s.w.t, {at.value - 1}).empty());
  auto due = due_records(s.w.t, at);
  REQUIRE(due.size() == 1);
  s.w.now = at;
  s.w.must(due[0]);
  CHECK(due_records(s.w.t, at).empty());
}

} // namespace assay::ledger::test
