// From records to what is served: what pools should run, whose hosts they are, and the snapshot.

#include "src/ledger/serving.hpp"
#include "src/routing/explain.hpp"
#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::ledger::test {

namespace {

struct served {
  world w = world::site();
  std::map<pool_id, std::shared_ptr<const pool::pool_view>> pools;
  pool::endpoint_registry counters;
  routing::rate_table rates;
  std::shared_ptr<const routing::routing_snapshot> last;

  const routing::routing_snapshot& build() {
    last = build_snapshot(
      last ? last->generation() + 1 : 1, {w.t, pools, counters, rates, w.now}, last.get()
    );
    return *last;
  }
  const routing::implementation& implementation(const implementation_id& id) {
    const auto& snapshot = build();
    return snapshot.implementations()[snapshot.find_implementation(id.value)];
  }
  void replica(std::string address, std::string stack = "stack 1") {
    pool::pool_view view{
      .pool = {"cpu-a"},
      .epoch = 1,
      .hosts = {},
      .replicas = {},
      .implementations = {},
      .queue = {}};
    view.replicas.push_back({
      .id = {"r"},
      .implementation = impl_a,
      .host = {"h1"},
      .generation = 7,
      .phase = pool::phase::ready,
      .takes_traffic = true,
      .address = std::move(address),
      .secret = "s",
      .fingerprint = some_digest(stack),
      .slots = 4,
      .devices = {},
      .reason = {},
    });
    pools[{"cpu-a"}] = std::make_shared<const pool::pool_view>(std::move(view));
  }
};

} // namespace

TEST_CASE("an implementation offers what its profile says, and the usual when that cannot be read"
) {
  using contract::operation;
  served s;
  CHECK(s.implementation(impl_a).operations == routing::usual_operations());
  std::string text =
    "runtime-profile: p\nphases:\n  ready: {get: /v1/models, json: data}\n"
    "  deep: {post: /v1/messages, body: '{}', json: usage}\napi: {offers: [messages]}\n";
  s.w.must(declared{catalog::profile_document{{"p"}, text, sha256(text)}});
  for (int i = 0; i < 2; ++i) { // The second snapshot has it from the first.
    auto offered = s.implementation(impl_a).operations;
    CHECK(offered.has(operation::messages));
    CHECK_FALSE(offered.has(operation::chat_completions));
  }
}

TEST_CASE("a pool runs what is declared for it and nothing that wants to be retired") {
  auto w = world::site();
  auto wanted = wanted_in(w.t, {"cpu-a"});
  REQUIRE(wanted.size() == 1);
  CHECK(wanted[0].launch.implementation == impl_a);
  CHECK(wanted[0].launch.manifest == manifest_digest(artifact_a()));
  CHECK(wanted[0].launch.profile_digest == sha256("text"));
  CHECK_FALSE(wanted[0].only_on);
  CHECK(wanted_in(w.t, {"unknown"}).empty());
  auto leaving = implementation(impl_a, "cpu-a");
  leaving.wanted = catalog::implementation_status::retired;
  w.must(declared{leaving});
  CHECK(wanted_in(w.t, {"cpu-a"}).empty());
}

TEST_CASE("an implementation whose artifact or profile is missing waits and starts nothing") {
  auto w = world::site();
  auto waiting = implementation({"m/cpu-a/later"}, "cpu-a");
  waiting.artifact = {"m/later"};
  w.must(declared{waiting});
  CHECK(wanted_in(w.t, {"cpu-a"}).size() == 1);
  auto later = artifact_a();
  later.id = {"m/later"};
  later.profile = profile_id{"unknown"};
  w.must(declared{later});
  CHECK(wanted_in(w.t, {"cpu-a"}).size() == 1);
  later.profile = profile_id{"p"};
  w.must(declared{later});
  CHECK(wanted_in(w.t, {"cpu-a"}).size() == 2);
}

TEST_CASE("a host belongs to the pool of its identity, or to every pool of a family it has") {
  auto w = world::site();
  w.must(declared{catalog::pool{.name = {"gpu"}, .family = catalog::family::nvidia}});
  std::vector families{catalog::family::cpu};
  CHECK(pools_of(w.t, {"unknown"}, families).empty());
  w.must(identity_added{"free", identity_role::host, std::string(40, 'a'), {}, {}});
  CHECK(pools_of(w.t, {"free"}, families) == std::vector<pool_id>{{"cpu-a"}, {"cpu-b"}});
  families.push_back(catalog::family::nvidia);
  CHECK(pools_of(w.t, {"free"}, families).size() == 3);
  w.must(identity_added{"bound", identity_role::host, std::string(40, 'b'), {"gpu"}, {}});
  CHECK(pools_of(w.t, {"bound"}, families) == std::vector<pool_id>{{"gpu"}});
  w.must(identity_revoked{"bound", "gone"});
  CHECK(pools_of(w.t, {"bound"}, families).empty());
}

TEST_CASE("the snapshot says of each implementation what the ledger says now") {
  served s;
  auto before = s.implementation(impl_a);
  CHECK(before.artifact_verified);
  CHECK(before.evaluation == routing::evaluation_state::missing);
  CHECK_FALSE(before.why_not_current.empty());
  CHECK_FALSE(before.admits.has(contract::traffic_class::interactive));
  qualify(s.w, {"q"}, impl_a);
  promote(s.w, "mv", impl_a, {"q"});
  auto after = s.implementation(impl_a);
  CHECK(after.evaluation == routing::evaluation_state::current);
  CHECK(after.qualified_fingerprints == std::vector{some_digest("stack 1")});
  CHECK(after.admits.has(contract::traffic_class::interactive));
  CHECK(after.why_not_current.empty());
  s.w.must(qualification_changed{{"q"}, qualification::event::drift, {}, "kernel"});
  CHECK(s.implementation(impl_a).evaluation == routing::evaluation_state::suspended);
}

TEST_CASE("a waiver is in the snapshot for as long as it holds") {
  served s;
  s.w.must(waiver{"w1", impl_a, {4, 5}, {s.w.now.value + 60'000}, "demo"});
  CHECK(s.implementation(impl_a).waivers.size() == 1);
  s.w.now.value += 60'000;
  CHECK(s.implementation(impl_a).waivers.empty());
}

TEST_CASE("a replica is an endpoint once its address can be read") {
  for (const auto* address : {"", "nowhere", "127.0.0.1:", "127.0.0.1:80x", "127.0.0.1:99999"}) {
    served s;
    s.replica(address);
    INFO(address);
    CHECK(s.build().endpoints().empty());
  }
  served s;
  s.replica("127.0.0.1:7200");
  REQUIRE(s.build().endpoints().size() == 1);
  CHECK(s.last->endpoints()[0].port == 7200);
}

TEST_CASE("a revoked key opens nothing") {
  served s;
  s.w.must(key_issued{{"k"}, some_digest("secret"), false, {}, {}});
  CHECK(s.build().keys().size() == 1);
  s.w.must(key_revoked{{"k"}, "lost"});
  CHECK(s.build().keys().empty());
}

} // namespace assay::ledger::test
