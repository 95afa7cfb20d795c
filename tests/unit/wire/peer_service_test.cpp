// What ingresses, pools and passed-on requests say to each other, on the wire.

#include "tests/unit/wire/peer_samples.hpp"

namespace assay::wire {

using namespace test;

TEST_CASE("an ingress and a pool are understood as they were meant") {
  auto back = [](const message& what) { return *decode_peer_message(bytes_of(encoded(what))); };
  CHECK(
    std::get<ingress_hello>(back(ingress_hello{5, {"in-2"}, 77})) == ingress_hello{5, {"in-2"}, 77}
  );
  CHECK(std::get<ticket_ask>(back(an_ask())) == an_ask());
  CHECK(std::get<ticket_withdraw>(back(ticket_withdraw{5, {"gpu"}, 7})).ticket == 7);
  CHECK(std::get<pools_now>(back(pools_now{5, {{"a"}, {"b"}}})) == pools_now{5, {{"a"}, {"b"}}});
  CHECK(std::get<lease>(back(a_lease())) == a_lease());
  CHECK(std::get<ticket_refuse>(back(a_refusal())) == a_refusal());
  CHECK(std::get<admin_ask>(back(an_admin_ask())) == an_admin_ask());
  CHECK(are_same(std::get<pool_state>(back(pool_state{5, a_view()})).view, a_view()));
  auto unmeasured = a_view();
  unmeasured.queue.served_per_second.reset();
  CHECK(are_same(std::get<pool_state>(back(pool_state{5, unmeasured})).view, unmeasured));
  auto report = std::get<ingress_report>(back(a_report()));
  CHECK(report.at == ms(123'456));
  CHECK(report.settled == std::vector<std::uint64_t>{7, 8});
  REQUIRE(report.holdings.size() == 1);
  CHECK(report.holdings[0].endpoint == pool::endpoint_key{"10.0.0.7:7200", 9});
  CHECK(report.holdings[0].credits == 4);
  CHECK(report.holdings[0].in_flight == 3);
  CHECK(report.holdings[0].finished == 2);
  CHECK(report.holdings[0].grant == 1);
}

TEST_CASE("every word about pools has an epoch and a pool, and lists have an end") {
  auto fault = [](auto what, auto damage) {
    damage(what);
    return fault_of(what);
  };
  CHECK(fault(a_report(), [](auto& m) { m.epoch = 0; }) == "ingress_report.epoch");
  CHECK(fault(a_report(), [](auto& m) { m.pool = {}; }) == "ingress_report.pool");
  CHECK(fault(a_report(), [](auto& m) { m.pool.value.assign(511, 'p'); }).empty());
  CHECK(fault(a_report(), [](auto& m) { m.pool.value.assign(512, 'p'); }) == "ingress_report.pool");
  CHECK(fault(a_report(), [](auto& m) { m.at = ms(-1); }) == "ingress_report.at");
  CHECK(fault(a_report(), [](auto& m) { m.settled.resize(limits::service_items); }).empty());
  CHECK(
    fault(a_report(), [](auto& m) { m.settled.resize(limits::service_items + 1); })
    == "ingress_report.settled"
  );
  CHECK(fault(an_ask(), [](auto& m) { m.left = ms(-1); }) == "ticket_ask.left");
  CHECK(
    fault(an_ask(), [](auto& m) { m.traffic = static_cast<contract::traffic_class>(4); })
    == "ticket_ask.traffic"
  );
  CHECK(
    fault(ingress_hello{5, {"in"}, 1}, [](auto& m) { m.ingress = {}; }) == "ingress_hello.ingress"
  );
  CHECK(fault(pools_now{5, {{"a"}}}, [](auto& m) { m.pools[0] = {}; }) == "pools_now.pools[0]");
  CHECK(
    fault(ticket_withdraw{5, {"a"}, 1}, [](auto& m) { m.epoch = 0; }) == "ticket_withdraw.epoch"
  );
  CHECK(
    fault(a_refusal(), [](auto& m) { m.why = static_cast<pool::ticket_refusal>(3); })
    == "ticket_refuse.why"
  );
  ticket_admit admitted{5, {"gpu"}, 7, {"m/gpu/a"}, {}};
  CHECK(fault_of(admitted) == "ticket_admit.endpoint");
}

TEST_CASE("a lease says known things, and for less than a day") {
  auto fault = [](auto damage) {
    auto what = a_lease();
    damage(what);
    return fault_of(what);
  };
  CHECK(fault([](lease&) {}).empty());
  CHECK(fault([](lease& m) { m.left = std::chrono::hours{24}; }).empty());
  CHECK(fault([](lease& m) { m.left = std::chrono::hours{24} + ms(1); }) == "lease.left");
  CHECK(fault([](lease& m) { m.heard = ms(-1); }) == "lease.heard");
  CHECK(
    fault([](lease& m) { m.degraded = static_cast<contract::degraded_rule>(3); })
    == "lease.degraded"
  );
  CHECK(fault([](lease& m) { m.waiting = static_cast<pool::contention>(3); }) == "lease.waiting");
  CHECK(fault([](lease& m) { m.endpoint.address.clear(); }) == "lease.endpoint");
}

TEST_CASE("a pool's state has known phases and a rate that is a number") {
  auto fault = [](auto damage) {
    pool_state what{5, a_view()};
    damage(what.view);
    return fault_of(what);
  };
  CHECK(fault([](pool::pool_view&) {}).empty());
  CHECK(fault([](auto& v) { v.pool = {}; }) == "pool_state.pool");
  CHECK(
    fault([](auto& v) { v.replicas[0].phase = static_cast<pool::phase>(10); })
    == "pool_state.replicas[0].phase"
  );
  CHECK(fault([](auto& v) { v.queue.served_per_second = -1; }) == "pool_state.served_per_second");
  CHECK(fault([](auto& v) { v.queue.oldest = ms(-1); }) == "pool_state.oldest");
  CHECK(
    fault([](auto& v) { v.replicas.resize(limits::service_items + 1); }) == "pool_state.replicas"
  );
}

TEST_CASE("the largest body of a passed-on request travels in one frame, one byte more is refused"
) {
  auto ask = an_admin_ask();
  ask.body.assign(limits::admin_body_bytes, 'x');
  CHECK(decode_peer_message(bytes_of(encoded(ask))));
  ask.body += 'x';
  auto refused = encode(ask);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().where == "admin_ask.body");
  CHECK(refused.error().next == "allowed is at most 10485760");
  admin_answer answer{3, 200, "text/plain", std::string(limits::admin_body_bytes + 1, 'x')};
  CHECK(fault_of(answer) == "admin_answer.body");
  answer.body.pop_back();
  CHECK(fault_of(answer).empty());
  answer.status = 600;
  CHECK(fault_of(answer) == "admin_answer.status");
}

TEST_CASE("any clock may be told, except one that no difference can be made with") {
  CHECK(fault_of(clock_told{{0}}).empty());
  CHECK(fault_of(clock_told{{(std::int64_t{1} << 61) - 1}}).empty());
  CHECK(fault_of(clock_told{{std::int64_t{1} << 61}}) == "clock");
  CHECK(fault_of(clock_told{{-1}}) == "clock");
}

TEST_CASE("a sync may take up to a day") {
  CHECK(fault_of(sync_told{std::chrono::hours{24}}).empty());
  CHECK(fault_of(sync_told{std::chrono::hours{24} + ms(1)}) == "sync");
}

TEST_CASE("what an ingress served is told as one proposal, and its answer has an end") {
  auto told = service_told{std::string(limits::proposal_bytes, 'r')};
  CHECK(std::get<service_told>(*decode_peer_message(bytes_of(encoded(told)))) == told);
  told.proposal += 'r';
  CHECK(fault_of(told) == "service_told");
  CHECK(fault_of(service_told{}) == "service_told");
  service_kept kept{a_hello().cluster, std::string(limits::text_bytes, 'w')};
  CHECK(std::get<service_kept>(*decode_peer_message(bytes_of(encoded(kept)))) == kept);
  kept.why += 'w';
  CHECK(fault_of(kept) == "service_kept.why");
  CHECK(peers::lane_of(told) == peers::lane::service);
  CHECK(peers::lane_of(kept) == peers::lane::service);
}

} // namespace assay::wire
