#include "src/base/limits.hpp"
#include "tests/unit/routing/site.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::routing {

using namespace test;

TEST_CASE("a bare name means the highest version until a route names one") {
  auto build = [](bool with_route) {
    snapshot_builder b{1};
    b.add(model{.id = {"m"}, .name = "m", .version = 1});
    b.add(model{.id = {"m@3"}, .name = "m", .version = 3});
    b.add(model{.id = {"m@2"}, .name = "m", .version = 2});
    if (with_route)
      b.add_route({"m@2"}, contract::traffic_class::interactive, {}, {});
    return b.build();
  };
  auto id_of = [](const auto& s, std::string_view name) {
    auto index = s->find_model(name);
    return index == none ? "" : s->models()[index].id.value;
  };
  auto s = build(false);
  CHECK(id_of(s, "m") == "m@3");
  CHECK(id_of(s, "m@1") == "m");
  CHECK(id_of(s, "m@2") == "m@2");
  CHECK(id_of(s, "m@4").empty());
  CHECK(id_of(build(true), "m") == "m@2");
}

TEST_CASE("what does not fit is left out and counted") {
  snapshot_builder b{1};
  b.add(model{.id = {"m"}, .name = "m"});
  CHECK_FALSE(b.add(good_implementation("x"), {"unknown"}));
  CHECK_FALSE(b.add(endpoint{}, {"unknown"}));
  CHECK_FALSE(b.add({}, key{}, {"nobody"}));
  CHECK(b.add_route({"m"}, contract::traffic_class::interactive, {}, {{.implementation = {"x"}}}));
  CHECK(b.left_out() == 4);
  CHECK(b.build()->models()[0].routes[0]->shares.empty());
}

TEST_CASE("a model takes its last allowed implementation and refuses the next") {
  snapshot_builder b{1};
  b.add(model{.id = {"m"}, .name = "m"});
  for (std::size_t n = 0; n < limits::implementations_per_model; ++n)
    REQUIRE(b.add(good_implementation(std::to_string(n)), {"m"}));
  CHECK_FALSE(b.add(good_implementation("one more"), {"m"}));
}

TEST_CASE("endpoints stand beside their implementation whatever the order they came in") {
  site s;
  s.add("a");
  s.add("b");
  s.endpoint(s.specs[0]);
  s.endpoint(s.specs[1]).fingerprint = other_stack;
  s.endpoint(s.specs[0]).phase = pool::phase::loading;
  const auto& built = s.build();
  for (const auto& i : built.implementations())
    for (const auto& e : built.endpoints_of(i))
      CHECK(&built.implementations()[e.implementation] == &i);
  CHECK(built.endpoints_of(built.implementations()[0]).size() == 3);
  CHECK(built.implementations()[0].serving == 2);
  CHECK(built.implementations()[1].serving_qualified == 1);
}

TEST_CASE("a key is found by the digest of its secret and by nothing else") {
  site s;
  s.add("a");
  const auto& built = s.build();
  const auto* k = built.find_key(sha256(std::string_view{"secret"}));
  REQUIRE(k);
  CHECK(k->id.value == "k");
  CHECK(caller_of(built, *k).project == 0);
  CHECK_FALSE(built.find_key(sha256(std::string_view{"Secret"})));
}

TEST_CASE("an endpoint is found by address and generation together") {
  site s;
  s.add("a");
  const auto& built = s.build();
  auto key = built.endpoints()[0].key();
  CHECK(built.find_endpoint(key) == &built.endpoints()[0]);
  CHECK_FALSE(built.find_endpoint({key.address, key.generation + 1}));
}

TEST_CASE("snapshots with the same names share one table of them") {
  site s;
  s.add("a");
  s.build();
  auto before = s.snapshot;
  s.build();
  CHECK(before->names() == s.snapshot->names());
  s.add("b");
  s.build();
  CHECK(before->names() != s.snapshot->names());
}

TEST_CASE("batch follows the interactive route unless it has its own") {
  model m;
  CHECK_FALSE(m.route_for(contract::traffic_class::batch));
  m.routes[0] = model_route{.generation = 1};
  CHECK(m.route_for(contract::traffic_class::batch)->generation == 1);
  m.routes[1] = model_route{.generation = 2};
  CHECK(m.route_for(contract::traffic_class::batch)->generation == 2);
  CHECK(m.route_for(contract::traffic_class::shadow)->generation == 1);
}

} // namespace assay::routing
