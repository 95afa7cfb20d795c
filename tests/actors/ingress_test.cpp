// INGRESS on a stage: pools only listen, the HTTP server is two vectors, the ledger applies for
// real.

#include "actors/ingress.hpp"
#include "src/base/limits.hpp"
#include "src/routing/health_limits.hpp"
#include "tests/support/fake_actors.hpp"
#include "tests/support/fake_ledger.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay {

namespace {

using namespace std::chrono_literals;
using ledger::test::impl_a;
using ledger::test::impl_b;
using ticket_answer = std::variant<pool::admit_ticket, pool::refuse_ticket>;
const ingress_id us{"in"};
const pool_id cpu_a{"cpu-a"};
const pool_id cpu_b{"cpu-b"};
const pool::endpoint_key endpoint{"127.0.0.1:7200", 7};

struct scene {
  test::stage stage;
  test::fake_ledger ledger{stage};
  test::inbox_ptr at_a = test::new_inbox();
  test::inbox_ptr at_b = test::new_inbox();
  pool_actor a = stage.system.spawn(test::fake_pool, at_a);
  pool_actor b = stage.system.spawn(test::fake_pool, at_b);
  std::shared_ptr<pool::endpoint_registry> counters = std::make_shared<pool::endpoint_registry>();
  std::vector<std::shared_ptr<const routing::routing_snapshot>> posted;
  std::size_t counted = 0;
  std::vector<std::vector<ledger::serving_summary>> told;
  std::vector<ticket_answer> answers;
  ingress_actor ingress = stage.system.spawn(
    ingress_behavior,
    ingress_options{
      us,
      counters,
      [this](std::shared_ptr<const routing::routing_snapshot> one) { posted.push_back(one); },
      [this](const std::vector<routing::outcome>& all) { counted += all.size(); },
      true,
      7,
      "",
      [this](std::vector<ledger::serving_summary> hours) { told.push_back(std::move(hours)); }}
  );

  scene() {
    ledger.tell(ingress);
    know({{cpu_a, a}, {cpu_b, b}});
  }
  ~scene() {
    stage.end(ingress);
    stage.end(a);
    stage.end(b);
  }

  template <class Message>
  void tell(Message what) {
    stage.self->send(ingress, std::move(what));
    stage.settle();
  }
  /// In the name of a pool's COORDINATOR.
  template <class Message>
  void say(const pool_actor& from, Message what) {
    caf::send_as(from, ingress, std::move(what));
    stage.settle();
  }
  void know(std::map<pool_id, pool_actor> pools) { tell(pools_known{std::move(pools)}); }

  /// Pool `cpu-a` has this many replicas; the first is `endpoint`.
  void view(std::size_t replicas) {
    pool::pool_view view{
      .pool = cpu_a, .epoch = 1, .hosts = {}, .replicas = {}, .implementations = {}, .queue = {}};
    view.replicas.resize(replicas);
    for (std::size_t n = 0; n < replicas; ++n) {
      auto& one = view.replicas[n];
      one.implementation = impl_a;
      one.generation = endpoint.generation + n;
      one.phase = pool::phase::ready;
      one.takes_traffic = true;
      one.address = "127.0.0.1:" + std::to_string(7200 + n);
      one.slots = 4;
    }
    tell(pool_changed{std::make_shared<const pool::pool_view>(std::move(view))});
  }
  void grant(std::uint32_t credits, std::uint64_t number) {
    say(a, pool::grant_lease{us, endpoint, {.credits = credits, .until = steady_time{1h}}, number});
  }

  void report(routing::ending how, int times, std::chrono::seconds retry_after = {}) {
    routing::outcome one;
    one.endpoint = endpoint;
    one.how = how;
    one.retry_after = retry_after;
    tell(outcomes{std::vector(static_cast<std::size_t>(times), one)});
  }
  pool::standing standing() const { return counters->find(endpoint)->ruled().standing; }

  void want(std::uint64_t number, std::vector<implementation_id> acceptable) {
    ticket_wanted wanted;
    wanted.ticket.ticket = number;
    wanted.ticket.acceptable = std::move(acceptable);
    wanted.answer = [this](ticket_answer one) { answers.push_back(std::move(one)); };
    tell(std::move(wanted));
  }
  void admits(const pool_actor& who, std::uint64_t number) {
    say(who, pool::admit_ticket{us, number, who == a ? impl_a : impl_b, endpoint});
  }
  void refuses(const pool_actor& who, std::uint64_t number) {
    say(who, pool::refuse_ticket{.ingress = us, .ticket = number});
  }

  static std::size_t asked(const test::inbox_ptr& pool) {
    return pool->events<pool::ticket_asked>().size();
  }
  static std::size_t withdrawn(const test::inbox_ptr& pool) {
    return pool->events<pool::ticket_withdrawn>().size();
  }
  pool::ingress_reported last_report(const test::inbox_ptr& pool) {
    auto all = pool->events<pool::ingress_reported>();
    REQUIRE_FALSE(all.empty());
    return all.back();
  }
  bool is_admitted() { return std::holds_alternative<pool::admit_ticket>(answers.at(0)); }
};

} // namespace

TEST_CASE("each change of tables or pools posts one newer snapshot") {
  scene s;
  auto before = s.posted.size();
  s.view(1);
  REQUIRE(s.posted.size() == before + 1);
  CHECK(s.posted.back()->find_endpoint(endpoint));
  CHECK(s.posted.back()->generation() > s.posted[before - 1]->generation());
  s.ledger.must(ledger::declared{catalog::project{.name = {"other"}}});
  REQUIRE(s.posted.size() == before + 2);
  CHECK(s.posted.back()->projects().size() > s.posted[before]->projects().size());
}

TEST_CASE("a pool is greeted once, and hears at once what is held of it") {
  scene s;
  s.view(1);
  s.grant(4, 1);
  s.at_a->clear();
  s.at_b->clear();
  s.know({{cpu_a, s.a}});
  s.know({{cpu_a, s.a}, {cpu_b, s.b}});
  CHECK(s.at_a->of<ingress_up>().empty());
  CHECK(s.at_b->of<ingress_up>().size() == 1);
  CHECK(s.at_b->events<pool::ingress_reported>().size() == 1);
  CHECK(s.last_report(s.at_a).holdings.size() == 1);
  CHECK(s.last_report(s.at_b).holdings.empty());
}

TEST_CASE("another coordinator of a known pool hears what is held and asked, under its own numbers"
) {
  scene s;
  s.view(1);
  s.grant(4, 17);
  s.want(1, {impl_a});
  auto at_next = test::new_inbox();
  auto next = s.stage.system.spawn(test::fake_pool, at_next);
  s.know({{cpu_a, next}, {cpu_b, s.b}});
  CHECK(at_next->of<ingress_up>().size() == 1);
  CHECK(s.asked(at_next) == 1);
  auto report = s.last_report(at_next);
  REQUIRE(report.holdings.size() == 1);
  CHECK(report.holdings[0].credits == 4);
  CHECK(report.holdings[0].grant == 0);
  s.grant(9, 18); // The old one's, late.
  CHECK(s.counters->find(endpoint)->granted().credits == 4);
  s.admits(s.a, 1);
  CHECK(s.answers.empty());
  s.admits(next, 1);
  CHECK(s.answers.size() == 1);
  s.stage.end(next);
}

TEST_CASE("a grant is in force at once, and the next report answers its number") {
  scene s;
  s.view(1);
  s.grant(4, 17);
  auto counters = s.counters->find(endpoint);
  REQUIRE(counters);
  auto one = pool::reservation::take(counters, {.now = steady_time{1s}});
  REQUIRE(one);
  s.stage.pass(limits::usage_report_every);
  auto report = s.last_report(s.at_a);
  REQUIRE(report.holdings.size() == 1);
  CHECK(report.holdings[0].credits == 4);
  CHECK(report.holdings[0].in_flight == 1);
  CHECK(report.holdings[0].grant == 17);
}

TEST_CASE("an endpoint that no pool shows any more keeps no credits") {
  scene s;
  s.view(1);
  s.grant(4, 1);
  s.view(0);
  s.stage.pass(limits::usage_report_every);
  CHECK_FALSE(s.counters->find(endpoint));
  CHECK(s.last_report(s.at_a).holdings.empty());
}

TEST_CASE("a replica that fails is left alone with the report, and asked again in time") {
  scene s;
  s.view(2);
  CHECK(s.standing() == pool::standing::warming);
  s.report(routing::ending::failed, 5);
  CHECK(s.standing() == pool::standing::failing);
  CHECK(s.counters->find(endpoint)->ruled().tokens == 0);
  s.stage.pass(limits::breaker_first);
  CHECK(s.standing() == pool::standing::probing);
  s.report(routing::ending::served, 1);
  CHECK(s.standing() == pool::standing::warming);
}

TEST_CASE("an attempt that another replica made good counts against the one that failed") {
  scene s;
  s.view(2);
  routing::outcome served;
  served.endpoint = {"127.0.0.1:7201", endpoint.generation + 1};
  served.failed_attempts = {{endpoint, routing::ending::overloaded, 3s}};
  s.tell(outcomes{{served}});
  CHECK(s.standing() == pool::standing::full);
  s.stage.pass(3s + limits::usage_report_every);
  CHECK(s.standing() == pool::standing::warming);
}

TEST_CASE("a replica that says nothing is found by the tick, and is back with its first word") {
  scene s;
  s.view(2);
  auto counters = s.counters->find(endpoint);
  auto began = s.stage.system.clock().now();
  pool::request_at hung{counters->signs(), 1s, began};
  s.stage.pass(4s);
  CHECK(s.standing() == pool::standing::warming);
  s.stage.pass(limits::usage_report_every);
  CHECK(s.standing() == pool::standing::wedged);
  hung.moved(s.stage.system.clock().now());
  s.stage.pass(limits::usage_report_every);
  CHECK(s.standing() == pool::standing::warming);
}

TEST_CASE("what outcomes teach is posted with the next tick, and they are counted at once") {
  scene s;
  s.view(1);
  auto before = s.posted.size();
  routing::outcome one;
  one.endpoint = endpoint;
  one.replica.total = 1s;
  one.usage = {.input_tokens = 10, .output_tokens = 10, .stated = true};
  s.tell(outcomes{{one, one}});
  CHECK(s.counted == 2);
  CHECK(s.posted.size() == before);
  s.stage.pass(limits::usage_report_every);
  CHECK(s.posted.size() == before + 1);
  s.stage.pass(limits::usage_report_every);
  CHECK(s.posted.size() == before + 1);
}

TEST_CASE("a ticket goes to each pool that could serve it, and the first to admit it gets it") {
  scene s;
  s.want(1, {impl_a, impl_a, impl_b});
  CHECK(s.asked(s.at_a) == 1);
  CHECK(s.asked(s.at_b) == 1);
  s.admits(s.a, 1);
  REQUIRE(s.answers.size() == 1);
  CHECK(s.is_admitted());
  CHECK(s.withdrawn(s.at_a) == 0);
  CHECK(s.withdrawn(s.at_b) == 1);
  SECTION("and the credit of one that admits it too late goes back") {
    s.admits(s.b, 1);
    CHECK(s.answers.size() == 1);
    CHECK(s.withdrawn(s.at_b) == 2);
  }
  SECTION("and it is reported as used once") {
    s.tell(ticket_settled{1});
    s.stage.pass(limits::usage_report_every);
    CHECK(s.last_report(s.at_a).settled == std::vector<std::uint64_t>{1});
    s.stage.pass(limits::usage_report_every);
    CHECK(s.last_report(s.at_a).settled.empty());
  }
}

TEST_CASE("an admission to a replica that no view shows yet takes nothing away from its pool") {
  scene s;
  s.want(1, {impl_a, impl_b});
  s.admits(s.a, 1);
  REQUIRE(s.answers.size() == 1);
  CHECK(s.withdrawn(s.at_a) == 0);
  CHECK(s.withdrawn(s.at_b) == 1);
  s.tell(ticket_settled{1});
  s.stage.pass(limits::usage_report_every);
  CHECK(s.last_report(s.at_a).settled.size() == 1);
}

TEST_CASE("a ticket is refused when the last pool that was asked refuses") {
  scene s;
  s.want(1, {impl_a, impl_b});
  s.refuses(s.a, 1);
  CHECK(s.answers.empty());
  SECTION("which one pool cannot do twice") {
    s.refuses(s.a, 1);
    CHECK(s.answers.empty());
    s.admits(s.b, 1);
    CHECK(s.is_admitted());
  }
  SECTION("and once only") {
    s.refuses(s.b, 1);
    s.refuses(s.b, 1);
    REQUIRE(s.answers.size() == 1);
    CHECK_FALSE(s.is_admitted());
  }
}

TEST_CASE("a ticket that no pool could serve is refused at once") {
  scene s;
  s.want(1, {{"m/cpu-x/a"}});
  REQUIRE(s.answers.size() == 1);
  CHECK(std::get<pool::refuse_ticket>(s.answers[0]).why == pool::ticket_refusal::no_replica);
}

TEST_CASE("who waits for a pool that goes away does not wait for ever") {
  scene s;
  s.want(1, {impl_a});
  s.want(2, {impl_a, impl_b});
  s.know({{cpu_b, s.b}});
  REQUIRE(s.answers.size() == 1);
  CHECK(std::get<pool::refuse_ticket>(s.answers[0]).ticket == 1);
  s.refuses(s.b, 2);
  CHECK(s.answers.size() == 2);
}

TEST_CASE("a client that leaves is taken out of every queue, and its admission comes too late") {
  scene s;
  s.want(1, {impl_a, impl_b});
  SECTION("while it waits") {
    s.tell(ticket_dropped{1});
    CHECK(s.withdrawn(s.at_a) == 1);
    CHECK(s.withdrawn(s.at_b) == 1);
    s.admits(s.b, 1);
    CHECK(s.withdrawn(s.at_b) == 2);
    CHECK(s.answers.empty());
  }
  SECTION("after it was admitted") {
    s.admits(s.a, 1);
    s.tell(ticket_dropped{1});
    CHECK(s.withdrawn(s.at_a) == 1);
    s.tell(ticket_dropped{1});
    CHECK(s.withdrawn(s.at_a) == 1);
  }
}

TEST_CASE("a ticket that is asked again gives up the place that it could not use") {
  scene s;
  s.want(1, {impl_a});
  s.admits(s.a, 1);
  SECTION("elsewhere: the pool that admitted it hears so") {
    s.want(1, {impl_b});
    CHECK(s.withdrawn(s.at_a) == 1);
  }
  SECTION("at the same pool: it keeps its place there") {
    s.want(1, {impl_a});
    CHECK(s.withdrawn(s.at_a) == 0);
    CHECK(s.asked(s.at_a) == 2);
  }
  SECTION("and refused: nothing of it is left") {
    s.want(1, {impl_b});
    s.refuses(s.b, 1);
    s.at_a->clear();
    s.tell(ticket_dropped{1});
    CHECK(s.withdrawn(s.at_a) == 0);
  }
}

TEST_CASE("a hypothetical request needs a model that is there and a key that may ask") {
  scene s;
  auto ask = [&](std::string model, std::string key) {
    explain_question question{std::move(model), std::move(key), {}, {}};
    return s.stage.ask<explain_answer>(s.ingress, question).what;
  };
  CHECK(ask("nothing", "").error().kind == problem_kind::not_found);
  CHECK(ask("m", "nobody").error().kind == problem_kind::not_found);
  s.ledger.must(ledger::key_issued{{"k"}, sha256("secret"), false, {}, {}});
  CHECK(ask("m", "k"));
  CHECK(ask("m", ""));
}

TEST_CASE("what was served is told hour by hour, and the open hour when no request comes any more"
) {
  scene s;
  routing::outcome o;
  o.decision = {"in-7-1"};
  o.model = {"m"};
  o.implementation = impl_a;
  o.began = {wall_now().value - 2 * ledger::service_hour.count()};
  s.tell(outcomes{{o, o}});
  CHECK(s.told.empty());
  s.stage.pass(limits::usage_report_every);
  REQUIRE(s.told.size() == 1);
  REQUIRE(s.told[0].size() == 1);
  CHECK(s.told[0][0].ingress == us.value);
  CHECK(s.told[0][0].boot == 7);
  CHECK(s.told[0][0].interactive == 2);
  o.began = wall_now();
  s.tell(outcomes{{o}});
  s.stage.ask<service_ended>(s.ingress, end_service{});
  REQUIRE(s.told.size() == 2);
  REQUIRE(s.told[1].size() == 1);
  CHECK(s.told[1][0].interactive == 1);
}

} // namespace assay
