// Hosts that are kept from work, and devices that are out of service.

#include "src/base/limits.hpp"
#include "tests/unit/pool/pool_stage.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::pool {

using namespace test;

namespace {

wanted_changed with(std::map<host_id, kept_host> kept, std::uint32_t devices = 0) {
  return {{wanted("m/p/a", 4, devices)}, {}, std::move(kept)};
}

const kept_host drains{false, "host h is draining"};
const kept_host quarantined{true, "host h is quarantined"};

const replica_view& replica_on(const pool_view& v, const std::string& host) {
  auto at = std::find_if(v.replicas.begin(), v.replicas.end(), [&](const auto& r) {
    return r.host.value == host;
  });
  REQUIRE(at != v.replicas.end());
  return *at;
}

/// A new leader that the ingress `in` has not spoken to, and a replica from before its time.
struct takeover {
  pool_stage stage{{.pool = {"p"}, .epoch = 4, .may_hold = {{"in"}}}};
  replica_reported old{
    .replica = {"m/p/a/1@h"},
    .host = {"h"},
    .session = 1,
    .implementation = {"m/p/a"},
    .generation = std::uint64_t{3} << 40 | 1,
    .phase = phase::ready,
    .address = "127.0.0.1:7200",
    .slots = 4};

  takeover() {
    stage.step(with({{{"h"}, drains}}));
    stage.step(host_reported{.host = {"h"}, .session = 1, .running = {{old.generation}}});
    stage.step(old);
  }
};

} // namespace

TEST_CASE("nothing is started on a host that is kept from work, and elsewhere it is") {
  for (const auto& how : {drains, quarantined}) {
    pool_stage stage;
    stage.step(with({{{"h"}, how}}));
    stage.host("h");
    CHECK(stage.all<start_replica>().empty());
    stage.host("i");
    CHECK(stage.one<start_replica>().host.value == "i");
  }
}

TEST_CASE("a quarantined host gets no request, keeps what it runs, and is replaced elsewhere") {
  pool_stage stage;
  auto started = stage.ready(wanted("m/p/a"));
  auto e = stage.endpoint(started);
  stage.ingress("in", {{e, 0}});
  stage.ingress("in", {{e, 1}});
  stage.host("i");
  stage.step(with({{{"h"}, quarantined}}));
  CHECK(stage.all<stop_replica>().empty());
  CHECK(stage.one<start_replica>().host.value == "i");
  auto seen = replica_on(stage.view(), "h");
  CHECK_FALSE(seen.takes_traffic);
  CHECK(seen.phase == phase::ready);
  CHECK(seen.reason == "host h is quarantined");
  stage.elapse(limits::drain_deadline + 1s);
  CHECK(stage.all<stop_replica>().empty());
}

TEST_CASE("a quarantined host that is resumed serves with what it runs, under its slots") {
  pool_stage stage;
  auto started = stage.ready(wanted("m/p/a"));
  auto e = stage.endpoint(started);
  stage.ingress("in", {{e, 0}});
  stage.ingress("in", {{e, 2}});
  stage.step(with({{{"h"}, quarantined}}));
  stage.elapse(limits::lease_life + 1s); // Its leases ran out meanwhile.
  stage.ingress("in", {{e, 0}});
  stage.step(with({}));
  CHECK(stage.all<start_replica>().empty());
  CHECK(replica_on(stage.view(), "h").takes_traffic);
  CHECK(stage.credits("in", e) == 4);
}

TEST_CASE("a drained host that is resumed is started on again") {
  pool_stage stage;
  auto started = stage.ready(wanted("m/p/a"));
  stage.step(with({{{"h"}, drains}}));
  CHECK(stage.one<stop_replica>().reason == "host h is draining");
  stage.step(stage.report(started, phase::gone));
  CHECK(stage.all<start_replica>().empty());
  stage.step(with({}));
  CHECK(stage.one<start_replica>().host.value == "h");
}

TEST_CASE("a new leader ends what a draining host runs once the ingresses of before said they are "
          "done") {
  takeover t;
  CHECK(t.stage.all<stop_replica>().empty()); // Who holds it has not spoken yet.
  endpoint_key e{t.old.address, t.old.generation};
  ingress_reported in{.ingress = {"in"}, .holdings = {{e, 0, 1, 0, 0}}};
  t.stage.step(in);
  CHECK(t.stage.all<stop_replica>().empty()); // One is in flight since before.
  for (int i = 0; i < 15; ++i) {
    t.stage.pass(1s);
    in.holdings[0].grant = t.stage.grants.at({{"in"}, e}).number;
    t.stage.step(in);
    CHECK(t.stage.all<stop_replica>().empty());
  }
  in.holdings[0].in_flight = 0;
  in.holdings[0].grant = t.stage.grants.at({{"in"}, e}).number;
  t.stage.step(in);
  CHECK(t.stage.one<stop_replica>().generation == t.old.generation);
}

TEST_CASE("a new leader waits a lease's life for an ingress that never speaks again") {
  takeover t;
  CHECK(t.stage.all<stop_replica>().empty());
  t.stage.elapse(limits::lease_life - 1ns);
  CHECK(t.stage.all<stop_replica>().empty());
  t.stage.pass(1ns);
  CHECK(t.stage.all<stop_replica>().size() == 1);
}

TEST_CASE("what runs on a device that fell sick ends, and nothing else does") {
  pool_stage stage;
  auto w = wanted("m/p/a", 4, 1);
  w.replicas_min = w.replicas_max = 2;
  stage.host("h", {"0", "1"});
  stage.step(wanted_changed{{w}});
  auto both = stage.all<start_replica>();
  REQUIRE(both.size() == 2);
  for (const auto& one : both)
    stage.step(stage.report(one, phase::ready));
  stage.step(host_reported{
    .host = {"h"}, .session = 1, .devices = {"1"}, .sick = {{"0", "Xid 79"}}, .running = {{}}});
  auto stopped = stage.one<stop_replica>();
  CHECK(stopped.reason == "its device 0 is out of service: Xid 79");
  auto on_it = both[0].devices == std::vector<std::string>{"0"} ? both[0] : both[1];
  CHECK(stopped.generation == on_it.generation);
  stage.step(stage.report(on_it, phase::gone));
  CHECK(stage.all<start_replica>().empty());
}

TEST_CASE("a device that somebody else uses is not given out, and what we run on it stays") {
  pool_stage stage;
  stage.host("h", {"0"});
  stage.step(with({}, 1));
  auto started = stage.one<start_replica>();
  stage.step(stage.report(started, phase::ready));
  stage.host("h", {});
  CHECK(stage.all<stop_replica>().empty());
  CHECK(replica_on(stage.view(), "h").takes_traffic);
}

} // namespace assay::pool
