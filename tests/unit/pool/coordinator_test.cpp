#include "src/base/limits.hpp"
#include "tests/unit/pool/pool_stage.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::pool {

using namespace test;
using contract::traffic_class;

// -- replicas -----------------------------------------------------------------------------------

TEST_CASE("a wanted implementation is started on a host of the pool, once") {
  pool_stage stage;
  stage.step(wanted_changed{{wanted("m/p/a")}});
  CHECK(stage.all<start_replica>().empty());
  CHECK(
    stage.view().implementations[0].waits_for
    == "no host of the pool is connected and open to new replicas"
  );
  stage.host("h");
  auto started = stage.one<start_replica>();
  CHECK(started.host.value == "h");
  CHECK(started.replica.value == "m/p/a/1@h");
  stage.pass(1s);
  CHECK(stage.all<start_replica>().empty());
}

TEST_CASE("what is wanted anew and is the same changes no view, and every difference does") {
  pool_stage stage;
  stage.step(wanted_changed{{wanted("m/p/a")}});
  CHECK(stage.all<view_changed>().size() == 1);
  stage.step(wanted_changed{{wanted("m/p/a")}});
  CHECK(stage.all<view_changed>().empty());
  auto more = wanted("m/p/a");
  more.replicas_max = 2;
  stage.step(wanted_changed{{more}});
  CHECK(stage.all<view_changed>().size() == 1);
  stage.step(wanted_changed{{more, wanted("m/p/b")}});
  CHECK(stage.all<view_changed>().size() == 1);
  stage.step(wanted_changed{{wanted("m/p/b")}});
  CHECK(stage.all<view_changed>().size() == 1);
}

TEST_CASE("nothing is started on a host before what it runs was reported") {
  pool_stage stage;
  stage.step(wanted_changed{{wanted("m/p/a")}});
  SECTION("named in its report") {
    auto old = std::uint64_t{2} << 40 | 9;
    stage.step(host_reported{.host = {"h"}, .session = 1, .running = {{old}}});
    CHECK(stage.all<start_replica>().empty());
    auto known = replica_reported{
      .replica = {"m/p/a/1@h"},
      .host = {"h"},
      .session = 1,
      .implementation = {"m/p/a"},
      .generation = old,
      .phase = phase::ready,
      .address = "127.0.0.1:7200",
    };
    stage.step(known);
    CHECK(stage.all<start_replica>().empty());
    CHECK(stage.view().replicas.at(0).takes_traffic);
  }
  SECTION("or given a moment") {
    stage.step(host_reported{.host = {"h"}, .session = 1});
    CHECK(stage.all<start_replica>().empty());
    stage.pass(limits::host_settles - 1ns);
    CHECK(stage.all<start_replica>().empty());
    stage.pass(1ns);
    CHECK(stage.all<start_replica>().size() == 1);
  }
}

TEST_CASE("two replicas never share a device") {
  pool_stage stage;
  auto w = wanted("m/p/a", 1, 2);
  w.replicas_min = w.replicas_max = 3;
  stage.step(wanted_changed{{w}});
  stage.host("h", {"0", "1", "2", "3"});
  CHECK(stage.all<start_replica>().size() == 2);
  CHECK(
    stage.view().implementations[0].waits_for
    == "a replica needs 2 free devices on one host, the freest has 0"
  );
  CHECK(stage.view().hosts[0].devices_free == 0);
}

TEST_CASE("a start that no report followed is repeated, and not before") {
  pool_stage stage;
  stage.step(wanted_changed{{wanted("m/p/a")}});
  stage.host("h");
  auto first = stage.one<start_replica>();
  stage.pass(limits::start_unheard - 1ns);
  CHECK(stage.all<start_replica>().empty());
  stage.pass(1ns);
  CHECK(stage.one<start_replica>().generation == first.generation);
}

TEST_CASE("a crashed replica is replaced after a pause that doubles, and at last given up") {
  pool_stage stage;
  auto started = stage.ready(wanted("m/p/a"));
  std::uint64_t last = started.generation;
  for (auto pause = 1s; pause < 16s; pause *= 2) {
    auto gone = stage.report(started, phase::gone);
    gone.reason = "signal 9";
    stage.step(gone);
    CHECK(stage.all<start_replica>().empty());
    stage.pass(pause - 1ns);
    CHECK(stage.all<start_replica>().empty());
    stage.pass(1ns);
    started = stage.one<start_replica>();
    CHECK(started.generation > last);
    last = started.generation;
  }
  auto gone = stage.report(started, phase::gone);
  gone.reason = "signal 9";
  stage.step(gone);
  stage.pass(1h);
  CHECK(stage.all<start_replica>().empty());
  auto seen = stage.view().implementations[0];
  CHECK(seen.given_up);
  CHECK(seen.waits_for == "ended 5 times in a row without being asked to; last: signal 9");
  stage.step(retry_asked{{"m/p/a"}});
  CHECK(stage.all<start_replica>().size() == 1);
}

TEST_CASE(
  "a replica that its host was told to end is no crash, and comes back after pauses that double"
) {
  pool_stage stage;
  auto started = stage.ready(wanted("m/p/a"));
  std::chrono::nanoseconds pause = limits::crash_pause_first;
  for (int i = 0; i < limits::crash_restarts + 4; ++i) {
    auto gone = stage.report(started, phase::gone);
    gone.reason = "the agent ends";
    gone.was_ordered = true;
    stage.step(gone);
    auto seen = stage.view().implementations[0];
    CHECK(seen.failures == 0);
    CHECK_FALSE(seen.given_up);
    CHECK(seen.waits_for == "the pause after its replica ended; it ended with: the agent ends");
    stage.pass(pause - 1ns);
    CHECK(stage.all<start_replica>().empty());
    stage.pass(1ns);
    started = stage.one<start_replica>();
    pause = std::min<std::chrono::nanoseconds>(2 * pause, limits::crash_pause_most);
  }
}

TEST_CASE("a replica that served for long is forgiven its earlier crashes") {
  pool_stage stage;
  auto started = stage.ready(wanted("m/p/a"));
  stage.step(stage.report(started, phase::gone));
  stage.pass(1s);
  started = stage.one<start_replica>();
  stage.step(stage.report(started, phase::ready));
  stage.pass(limits::crash_forgotten - 1ns);
  CHECK(stage.view().implementations[0].failures == 1);
  stage.pass(1ns);
  CHECK(stage.view().implementations[0].failures == 0);
}

TEST_CASE("a report of an older session changes nothing") {
  pool_stage stage;
  auto started = stage.ready(wanted("m/p/a"));
  stage.host("h", {}, 2);
  auto late = stage.report(started, phase::gone);
  late.session = 1;
  stage.step(late);
  CHECK(stage.view().replicas.at(0).takes_traffic);
}

TEST_CASE("an agent that comes back in time keeps its replica serving") {
  pool_stage stage;
  auto started = stage.ready(wanted("m/p/a"));
  stage.host("h", {}, 2);
  CHECK(stage.view().replicas.at(0).takes_traffic);
  stage.pass(limits::replica_confirm - 1ns);
  CHECK(stage.view().replicas.at(0).takes_traffic);
  SECTION("when it reports it") {
    auto again = stage.report(started, phase::ready);
    again.session = 2;
    stage.step(again);
    stage.pass(1h);
    CHECK(stage.view().replicas.at(0).takes_traffic);
  }
  SECTION("and loses it when it does not") {
    stage.pass(1ns);
    CHECK(stage.all<start_replica>().size() == 1);
    CHECK(stage.view().replicas.at(0).generation != started.generation);
  }
}

TEST_CASE("a replica whose agent is silent serves on, and no other is started in its place") {
  pool_stage stage;
  auto started = stage.ready(wanted("m/p/a"));
  stage.host("h2");
  stage.step(host_lost{{"h"}, 1});
  stage.pass(limits::unwatched - 1ns);
  CHECK(stage.view().replicas.at(0).takes_traffic);
  CHECK(stage.all<start_replica>().empty());
  SECTION("until it has been silent for too long") {
    stage.pass(1ns);
    CHECK_FALSE(stage.view().replicas.at(0).takes_traffic);
    CHECK(stage.one<start_replica>().host.value == "h2");
  }
  SECTION("and stays when the agent is back and reports it") {
    stage.host("h", {}, 2);
    auto again = stage.report(started, phase::ready);
    again.session = 2;
    stage.step(again);
    stage.pass(1h);
    CHECK(stage.view().replicas.at(0).takes_traffic);
  }
  SECTION("but not when the host is revoked meanwhile") {
    stage.step(host_lost{{"h"}, 1, host_loss::left});
    CHECK_FALSE(stage.view().replicas.at(0).takes_traffic);
  }
}

TEST_CASE("what was verified on a host is verified while its agent is silent, for as long") {
  pool_stage stage;
  auto w = wanted("m/p/a");
  stage.step(host_reported{.host = {"h"}, .session = 1, .verified = {w.launch.manifest}});
  stage.step(wanted_changed{{w}});
  stage.step(host_lost{{"h"}, 1});
  stage.pass(limits::unwatched - 1ns);
  CHECK(stage.view().implementations.at(0).artifact_verified);
  stage.pass(1ns);
  CHECK_FALSE(stage.view().implementations.at(0).artifact_verified);
}

TEST_CASE("a host that leaves the pool takes its replicas out of service at once") {
  pool_stage stage;
  stage.ready(wanted("m/p/a"));
  stage.step(host_lost{{"h"}, 1, host_loss::left});
  CHECK_FALSE(stage.view().replicas.at(0).takes_traffic);
}

TEST_CASE("a replica behind a partition takes no traffic until it is reported again") {
  pool_stage stage;
  auto old = stage.ready(wanted("m/p/a"));
  stage.host("h2");
  stage.step(host_lost{{"h"}, 1});
  stage.pass(limits::unwatched);
  CHECK_FALSE(stage.view().replicas.at(0).takes_traffic);
  auto replacement = stage.one<start_replica>();
  CHECK(replacement.host.value == "h2");
  SECTION("and wins over a replacement that is not ready") {
    stage.host("h", {}, 2);
    auto again = stage.report(old, phase::ready);
    again.session = 2;
    stage.step(again);
    CHECK(stage.one<stop_replica>().generation == replacement.generation);
    CHECK(stage.view().replicas.at(0).takes_traffic);
  }
  SECTION("and is stopped when the replacement serves") {
    stage.step(stage.report(replacement, phase::ready));
    stage.host("h", {}, 2);
    auto again = stage.report(old, phase::ready);
    again.session = 2;
    stage.step(again);
    auto seen = stage.view();
    auto serving = std::count_if(seen.replicas.begin(), seen.replicas.end(), [](const auto& r) {
      return r.takes_traffic;
    });
    CHECK(serving == 1);
    CHECK(stage.one<stop_replica>().reason == "more replicas than wanted");
  }
}

TEST_CASE("a replica of what is not wanted is stopped, and one of a later epoch left alone") {
  pool_stage stage;
  stage.step(wanted_changed{{wanted("m/p/a")}});
  stage.step(host_reported{.host = {"h"}, .session = 1});
  auto found = replica_reported{
    .replica = {"x/1@h"},
    .host = {"h"},
    .session = 1,
    .implementation = {"m/p/other"},
    .generation = std::uint64_t{2} << 40,
    .phase = phase::ready,
    .address = "127.0.0.1:7200",
  };
  stage.step(found);
  CHECK(stage.one<stop_replica>().reason == "implementation m/p/other is not wanted in this pool");
  found.implementation = {"m/p/a"};
  found.generation = std::uint64_t{4} << 40;
  stage.step(found);
  CHECK(stage.all<stop_replica>().empty());
  CHECK(stage.view().replicas.empty());
}

TEST_CASE("a replica of another pool on the same host is left alone, and its devices are taken") {
  pool_stage stage;
  stage.step(wanted_changed{{}, {{"m/q/theirs"}}});
  stage.host("h", {"0", "1"});
  auto theirs = replica_reported{
    .replica = {"x/1@h"},
    .host = {"h"},
    .session = 1,
    .implementation = {"m/q/theirs"},
    .generation = std::uint64_t{1} << 40 | 1,
    .phase = phase::ready,
    .address = "127.0.0.1:7200",
    .devices = {"0"},
  };
  stage.step(theirs);
  CHECK(stage.all<stop_replica>().empty());
  CHECK(stage.view().replicas.empty());
  auto w = wanted("m/p/a", 4, 1);
  w.replicas_min = w.replicas_max = 2;
  stage.step(wanted_changed{{w}, {{"m/q/theirs"}}});
  CHECK(stage.one<start_replica>().devices == std::vector<std::string>{"1"});
  theirs.phase = phase::gone;
  stage.step(theirs);
  CHECK(stage.one<start_replica>().devices == std::vector<std::string>{"0"});
  CHECK(stage.all<stop_replica>().empty());
}

TEST_CASE("a changed declaration is served by a new replica before the old one is drained") {
  pool_stage stage;
  auto w = wanted("m/p/a");
  auto old = stage.ready(w);
  w.launch.args["threads"] = "2";
  stage.step(wanted_changed{{w}});
  auto next = stage.one<start_replica>();
  CHECK(stage.all<stop_replica>().empty());
  CHECK(stage.view().replicas.at(0).takes_traffic);
  stage.step(stage.report(next, phase::ready));
  CHECK(stage.one<stop_replica>().generation == old.generation);
  CHECK(stage.view().replicas.at(1).takes_traffic);
}

TEST_CASE("without room beside it the old replica makes room first") {
  pool_stage stage;
  auto w = wanted("m/p/a", 1, 1);
  stage.step(wanted_changed{{w}});
  stage.host("h", {"0"});
  auto old = stage.one<start_replica>();
  stage.step(stage.report(old, phase::ready));
  w.launch.args["threads"] = "2";
  stage.step(wanted_changed{{w}});
  CHECK(stage.one<stop_replica>().generation == old.generation);
  stage.step(stage.report(old, phase::gone));
  CHECK(stage.one<start_replica>().launch.args.at("threads") == "2");
  CHECK(stage.view().implementations[0].failures == 0);
}

TEST_CASE("a draining replica is stopped once nothing is in flight, or at the deadline") {
  pool_stage stage;
  auto started = stage.ready(wanted("m/p/a"));
  auto e = stage.endpoint(started);
  stage.ingress("in", {{e, 0}});
  stage.ingress("in", {{e, 2}});
  stage.step(wanted_changed{{wanted("m/p/a")}, {}, {{{"h"}, {false, "host h is draining"}}}});
  CHECK(stage.credits("in", e) == 0);
  CHECK(stage.all<stop_replica>().empty());
  stage.ingress("in", {{e, 1}});
  CHECK(stage.all<stop_replica>().empty());
  SECTION("nothing in flight") {
    stage.ingress("in", {{e, 0}});
    CHECK(stage.one<stop_replica>().reason == "host h is draining");
  }
  SECTION("the deadline") {
    stage.elapse(limits::drain_deadline - 1ns);
    CHECK(stage.all<stop_replica>().empty());
    stage.pass(1ns);
    CHECK(stage.all<stop_replica>().size() == 1);
  }
}

TEST_CASE("long waiting starts one more replica and long idling ends it") {
  pool_stage stage;
  auto w = wanted("m/p/a", 1);
  w.replicas_max = 2;
  auto first = stage.ready(w);
  auto e = stage.endpoint(first);
  stage.ingress("in", {{e, 0}});
  stage.ingress("in", {{e, 1}});
  stage.step(stage.ticket(1, "m/p/a"));
  stage.pass(limits::scale_up_wait - 1ns);
  CHECK(stage.all<start_replica>().empty());
  stage.pass(1ns);
  auto second = stage.one<start_replica>();
  stage.step(stage.report(second, phase::ready));
  CHECK(stage.one<admit_ticket>().endpoint == stage.endpoint(second));
  auto both_idle = std::vector<pool_stage::use>{{e, 0, 1}, {stage.endpoint(second), 0, 1}};
  stage.ingress("in", both_idle, {1});
  stage.now += limits::scale_down_idle;
  stage.ingress("in", both_idle);
  CHECK(stage.one<stop_replica>().reason == "more replicas than wanted");
}

// -- credits ------------------------------------------------------------------------------------

TEST_CASE("one ingress gets every slot, two share, and a lost one's come back with its lease's end"
) {
  pool_stage stage;
  auto e = stage.endpoint(stage.ready(wanted("m/p/a", 4)));
  stage.ingress("a");
  CHECK(stage.credits("a", e) == 4);
  stage.ingress("b");
  // The first may still believe that it has four.
  CHECK(stage.credits("a", e) == 2);
  CHECK(stage.credits("b", e) == 0);
  stage.ingress("a", {{e, 0}});
  CHECK(stage.credits("b", e) == 2);
  stage.step(ingress_lost{{"a"}});
  stage.ingress("b", {{e, 0}});
  stage.pass(limits::lease_life - 1ns);
  CHECK(stage.credits("b", e) == 2);
  stage.pass(1ns);
  CHECK(stage.credits("b", e) == 4);
}

TEST_CASE("a lease is renewed at half its life") {
  pool_stage stage;
  auto e = stage.endpoint(stage.ready(wanted("m/p/a", 4)));
  stage.ingress("a");
  auto until = stage.grants.begin()->second.grant.until;
  CHECK(until == stage.now + limits::lease_life);
  stage.pass(limits::lease_renew - 1ns);
  CHECK(stage.all<grant_lease>().empty());
  stage.pass(1ns);
  CHECK(stage.one<grant_lease>().grant.until == stage.now + limits::lease_life);
}

TEST_CASE("what is in flight is not given to another ingress") {
  pool_stage stage;
  auto e = stage.endpoint(stage.ready(wanted("m/p/a", 4)));
  stage.ingress("a");
  stage.ingress("a", {{e, 3}});
  stage.ingress("b");
  stage.ingress("a", {{e, 3}});
  CHECK(stage.credits("a", e) + stage.credits("b", e) == 4);
  CHECK(stage.credits("a", e) >= 3);
}

TEST_CASE("a new leader renews reported leases at once and waits for the unreported") {
  auto settings = coordinator_settings{.pool = {"p"}, .epoch = 3, .may_hold = {{"a"}, {"b"}}};
  pool_stage stage{settings};
  stage.step(wanted_changed{{wanted("m/p/a", 4)}});
  auto old = std::uint64_t{2} << 40 | 1;
  auto e = endpoint_key{"127.0.0.1:7200", old};
  stage.step(host_reported{.host = {"h"}, .session = 1, .running = {{old}}});
  stage.step(replica_reported{
    .replica = {"m/p/a/1@h"},
    .host = {"h"},
    .session = 1,
    .implementation = {"m/p/a"},
    .generation = old,
    .phase = phase::ready,
    .address = e.address,
  });
  auto held = ingress_reported{.ingress = {"a"}, .holdings = {{e, 1, 1, 0, 77}}};
  stage.step(held);
  CHECK(stage.credits("a", e) == 1);
  SECTION("until all of them have reported") {
    stage.step(ingress_reported{.ingress = {"b"}, .holdings = {{e, 2, 0, 0, 78}}});
    CHECK(stage.credits("a", e) + stage.credits("b", e) == 4);
  }
  SECTION("or a lease's life has passed") {
    stage.pass(limits::lease_life - 1ns);
    CHECK(stage.credits("a", e) == 1);
    stage.pass(1ns);
    CHECK(stage.credits("a", e) == 4);
  }
}

TEST_CASE("an ingress that claims more than the slots is cut to what is free") {
  pool_stage stage;
  auto e = stage.endpoint(stage.ready(wanted("m/p/a", 4)));
  stage.ingress("a");
  stage.ingress("a", {{e, 3}});
  stage.step(ingress_reported{.ingress = {"b"}, .holdings = {{e, 100, 100, 0, 5}}});
  CHECK(stage.credits("b", e) <= 1);
}

// -- the queue ----------------------------------------------------------------------------------

namespace {

/// One endpoint with one slot, in use by ingress `in`.
endpoint_key busy(pool_stage& stage) {
  auto e = stage.endpoint(stage.ready(wanted("m/p/a", 1)));
  stage.ingress("in", {{e, 0}});
  stage.ingress("in", {{e, 1}});
  return e;
}

} // namespace

TEST_CASE("a ticket is admitted when a credit comes free and not before") {
  pool_stage stage;
  auto e = busy(stage);
  stage.step(stage.ticket(1, "m/p/a"));
  CHECK(stage.all<admit_ticket>().empty());
  CHECK(stage.grants.begin()->second.grant.waiting == contention::interactive_waits);
  stage.ingress("in", {{e, 0, 1}});
  CHECK(stage.one<admit_ticket>().endpoint == e);
  CHECK(stage.grants.begin()->second.grant.waiting == contention::none);
}

TEST_CASE("one free credit admits one ticket, until it is settled") {
  pool_stage stage;
  auto e = busy(stage);
  stage.step(stage.ticket(1, "m/p/a"));
  stage.step(stage.ticket(2, "m/p/a"));
  stage.ingress("in", {{e, 0, 1}});
  CHECK(stage.one<admit_ticket>().ticket == 1);
  stage.ingress("in", {{e, 0, 1}});
  CHECK(stage.all<admit_ticket>().empty());
  stage.ingress("in", {{e, 1, 1}}, {1});
  CHECK(stage.all<admit_ticket>().empty());
  stage.ingress("in", {{e, 0, 2}});
  CHECK(stage.one<admit_ticket>().ticket == 2);
}

TEST_CASE("an admitted ticket that could not be used keeps its place") {
  pool_stage stage;
  auto e = busy(stage);
  stage.step(stage.ticket(1, "m/p/a"));
  stage.now += 1s;
  stage.step(stage.ticket(2, "m/p/a"));
  stage.ingress("in", {{e, 0, 1}});
  CHECK(stage.one<admit_ticket>().ticket == 1);
  stage.ingress("in", {{e, 1, 1}});
  stage.step(stage.ticket(1, "m/p/a"));
  stage.now += limits::pool_tick;
  stage.ingress("in", {{e, 0, 2}});
  CHECK(stage.one<admit_ticket>().ticket == 1);
}

TEST_CASE("a ticket whose claim failed is not sent back in the same moment") {
  pool_stage stage;
  auto e = stage.endpoint(stage.ready(wanted("m/p/a", 1)));
  stage.ingress("in", {{e, 0}});
  stage.step(stage.ticket(1, "m/p/a"));
  CHECK(stage.one<admit_ticket>().ticket == 1);
  stage.step(stage.ticket(1, "m/p/a"));
  CHECK(stage.all<admit_ticket>().empty());
  stage.pass(limits::pool_tick - 1ns);
  CHECK(stage.all<admit_ticket>().empty());
  stage.pass(1ns);
  CHECK(stage.one<admit_ticket>().ticket == 1);
}

TEST_CASE("a ticket at one ingress gets the idle credit of another") {
  pool_stage stage;
  auto e = stage.endpoint(stage.ready(wanted("m/p/a", 1)));
  stage.ingress("a", {{e, 0}});
  stage.ingress("b", {{e, 0}});
  stage.ingress("a", {{e, 0}});
  auto owner = stage.credits("a", e) == 1 ? std::string{"a"} : std::string{"b"};
  auto other = owner == "a" ? std::string{"b"} : std::string{"a"};
  stage.step(stage.ticket(1, "m/p/a", other));
  CHECK(stage.credits(owner, e) == 0);
  CHECK(stage.all<admit_ticket>().empty());
  stage.ingress(owner, {{e, 0}});
  CHECK(stage.one<admit_ticket>().ingress.value == other);
  CHECK(stage.credits(other, e) == 1);
}

TEST_CASE("batch waits while only the interactive headroom is free") {
  pool_stage stage;
  auto e = stage.endpoint(stage.ready(wanted("m/p/a", 2)));
  stage.ingress("in", {{e, 0}});
  stage.ingress("in", {{e, 1}});
  auto batch = stage.ticket(1, "m/p/a");
  batch.traffic = traffic_class::batch;
  stage.step(batch);
  CHECK(stage.all<admit_ticket>().empty());
  CHECK(stage.grants.begin()->second.grant.waiting == contention::batch_waits);
  stage.step(stage.ticket(2, "m/p/a"));
  CHECK(stage.one<admit_ticket>().ticket == 2);
  stage.ingress("in", {{e, 1, 1}}, {2});
  CHECK(stage.all<admit_ticket>().empty());
  stage.ingress("in", {{e, 0, 2}});
  CHECK(stage.one<admit_ticket>().ticket == 1);
}

TEST_CASE("a ticket does not go to an endpoint that it excludes") {
  pool_stage stage;
  auto e = stage.endpoint(stage.ready(wanted("m/p/a", 2)));
  stage.ingress("in", {{e, 0}});
  auto t = stage.ticket(1, "m/p/a");
  t.excluded = {e};
  stage.step(t);
  CHECK(stage.all<admit_ticket>().empty());
  CHECK(stage.one<refuse_ticket>().why == ticket_refusal::no_replica);
}

TEST_CASE("a ticket waits for replicas that a new leader's agents have not reported yet") {
  pool_stage stage{coordinator_settings{.pool = {"p"}, .epoch = 3, .may_hold = {{"in"}}}};
  stage.step(wanted_changed{{wanted("m/p/a")}});
  stage.ingress("in");
  stage.step(stage.ticket(1, "m/p/a"));
  CHECK(stage.all<refuse_ticket>().empty());
  stage.step(stage.ticket(2, "m/p/other"));
  CHECK(stage.one<refuse_ticket>().ticket == 2);
  stage.pass(limits::unwatched - 1ms);
  CHECK(stage.all<refuse_ticket>().empty());
  stage.pass(1ms);
  CHECK(stage.one<refuse_ticket>().why == ticket_refusal::no_replica);
}

TEST_CASE("a ticket for a replica that is still loading waits, and for none is refused at once") {
  pool_stage stage;
  stage.host("h");
  stage.step(wanted_changed{{wanted("m/p/a")}});
  auto started = stage.one<start_replica>();
  stage.step(stage.report(started, phase::loading));
  stage.ingress("in");
  stage.step(stage.ticket(1, "m/p/a"));
  CHECK(stage.all<refuse_ticket>().empty());
  stage.step(stage.ticket(2, "m/p/other"));
  CHECK(stage.one<refuse_ticket>().why == ticket_refusal::no_replica);
  stage.step(stage.report(started, phase::ready));
  CHECK(stage.one<admit_ticket>().ticket == 1);
}

TEST_CASE("a ticket is refused at its deadline, with a default hint while no rate is known") {
  pool_stage stage;
  busy(stage);
  stage.step(stage.ticket(1, "m/p/a"));
  stage.elapse(20s - 1ns);
  CHECK(stage.all<refuse_ticket>().empty());
  stage.pass(1ns);
  auto refused = stage.one<refuse_ticket>();
  CHECK(refused.why == ticket_refusal::waited_too_long);
  CHECK_FALSE(refused.measured);
  CHECK(refused.retry_after == limits::retry_after_default);
}

TEST_CASE("the hint to retry follows the measured service rate") {
  pool_stage stage;
  auto e = busy(stage);
  stage.pass(0s);
  std::uint64_t finished = 0;
  for (auto n = 0; n < 60; ++n) {
    stage.ingress("in", {{e, 1, finished += 2}});
    stage.pass(1s);
  }
  for (std::uint64_t n = 1; n <= 9; ++n) {
    auto t = stage.ticket(n, "m/p/a");
    t.deadline = stage.now + 1s;
    stage.step(t);
  }
  auto late = stage.ticket(10, "m/p/a");
  late.deadline = stage.now;
  stage.step(late);
  auto refused = stage.one<refuse_ticket>();
  CHECK(refused.measured);
  CHECK(refused.retry_after == 5s); // Ten in turn at two a second.
}

TEST_CASE("the last place in the pool's queue is given and the next refused") {
  pool_stage stage;
  busy(stage);
  for (std::uint64_t n = 1; n <= limits::queue_waiting; ++n) {
    stage.effects = stage.coordinator.step(stage.ticket(n, "m/p/a"), stage.now);
    REQUIRE(stage.all<refuse_ticket>().empty());
  }
  stage.step(stage.ticket(5'000, "m/p/a"));
  CHECK(stage.one<refuse_ticket>().why == ticket_refusal::queue_full);
}

TEST_CASE("a withdrawn ticket is not admitted") {
  pool_stage stage;
  auto e = busy(stage);
  stage.step(stage.ticket(1, "m/p/a"));
  stage.step(ticket_withdrawn{{"in"}, 1});
  stage.ingress("in", {{e, 0, 1}});
  CHECK(stage.all<admit_ticket>().empty());
}

TEST_CASE("pools that share a host never meet on one generation") {
  pool_stage one{{.pool = {"one"}, .epoch = 3}};
  pool_stage two{{.pool = {"two"}, .epoch = 3}};
  CHECK(one.ready(wanted("m/p/a")).generation != two.ready(wanted("m/p/a")).generation);
  CHECK(pool_stage{{.pool = {"one"}, .epoch = 4}}.ready(wanted("m/p/a")).generation >> 40 == 4);
}

} // namespace assay::pool
