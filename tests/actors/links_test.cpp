// POOL LINK and INGRESS LINK on a stage, each alone: who listens on this side is a fake, and what
// is said to the other process lies in a vector.

#include "actors/ingress_link.hpp"
#include "actors/pool_link.hpp"
#include "src/base/peer_limits.hpp"
#include "tests/support/fake_actors.hpp"
#include "tests/support/stage.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay {

namespace {

using namespace std::chrono_literals;
using peers::send_outcome;

const pool_id gpu{"gpu"};
const ingress_id us{"in"};
const pool::endpoint_key endpoint{"10.0.0.7:7200", 7};

/// What was said to the other process, and how that went.
struct way {
  std::vector<peers::message> said;
  send_outcome outcome = send_outcome::queued;

  peer_sender sender() {
    return [this](const peers::message& what) {
      if (outcome == send_outcome::queued)
        said.push_back(what);
      return outcome;
    };
  }
  template <class Word>
  std::vector<Word> of() const {
    std::vector<Word> found;
    for (const auto& one : said)
      if (const auto* it = std::get_if<Word>(&one))
        found.push_back(*it);
    return found;
  }
};

/// So that a time before now exists.
steady_time later(test::stage& stage) {
  stage.pass(1h);
  return stage.system.clock().now();
}

struct pool_scene {
  test::stage stage;
  way out;
  steady_time start = later(stage);
  test::inbox_ptr at_ingress = test::new_inbox();
  ingress_actor ingress = stage.system.spawn(test::fake_ingress, at_ingress);
  pool_link_actor link =
    stage.system.spawn(pool_link_behavior, pool_link_options{gpu, 5, us, ingress, out.sender()});

  ~pool_scene() {
    stage.end(link);
    stage.end(ingress);
  }
  template <class Message>
  void tell(Message what) {
    stage.self->send(link, std::move(what));
    stage.settle();
  }
  void ask() {
    pool::ticket_asked ticket{.ingress = us, .ticket = 1};
    ticket.deadline = stage.system.clock().now() + 7s;
    tell(pool::event{ticket});
  }
  pool::grant grant() { return at_ingress->of<pool::grant_lease>().back().grant; }
};

struct ingress_scene {
  test::stage stage;
  way out;
  test::inbox_ptr at_pool = test::new_inbox();
  steady_time start = later(stage);
  pool_actor pool = stage.system.spawn(test::fake_pool, at_pool);
  ingress_link_actor link =
    stage.system.spawn(ingress_link_behavior, ingress_link_options{us, 5, out.sender(), true});

  ingress_scene() { tell(pools_known{{{gpu, pool}}}); }
  ~ingress_scene() {
    stage.end(link);
    stage.end(pool);
  }
  template <class Message>
  void tell(Message what) {
    stage.self->send(link, std::move(what));
    stage.settle();
  }
  /// In the pool's name.
  template <class Message>
  void say(Message what) {
    caf::send_as(pool, link, std::move(what));
    stage.settle();
  }
  void view(std::uint32_t slots) {
    pool::pool_view view{.pool = gpu, .epoch = 5};
    view.replicas.resize(1);
    view.replicas[0].address = endpoint.address;
    view.replicas[0].generation = endpoint.generation;
    view.replicas[0].slots = slots;
    say(pool_changed{std::make_shared<const pool::pool_view>(std::move(view))});
  }
  void grant(std::uint64_t number) {
    auto until = stage.system.clock().now() + limits::lease_life;
    say(pool::grant_lease{us, endpoint, {.credits = 4, .until = until}, number});
  }
  void report(std::chrono::milliseconds at) {
    tell(peers::ingress_report{.epoch = 5, .pool = gpu, .at = at});
  }
  std::size_t lost() const { return at_pool->events<pool::ingress_lost>().size(); }
};

} // namespace

// -- POOL LINK

TEST_CASE("what an ingress says to a pool elsewhere goes there under the link's epoch") {
  pool_scene s;
  s.tell(pool::event{pool::ingress_reported{us, {{endpoint, 4, 3, 2, 1}}, {9}}});
  s.ask();
  s.tell(pool::event{pool::ticket_withdrawn{us, 1}});
  s.tell(pool::event{pool::ticked{}});
  REQUIRE(s.out.said.size() == 3);
  auto report = s.out.of<peers::ingress_report>().at(0);
  CHECK(report.epoch == 5);
  CHECK(report.pool == gpu);
  CHECK(steady_time{report.at} <= s.stage.system.clock().now());
  CHECK(report.holdings.at(0).grant == 1);
  CHECK(report.settled == std::vector<std::uint64_t>{9});
  CHECK(s.out.of<peers::ticket_ask>().at(0).left == 7s);
  CHECK(s.out.of<peers::ticket_withdraw>().at(0).ticket == 1);
}

TEST_CASE("a lease ends by the ingress's own clock, however long it travelled") {
  pool_scene s;
  auto sent = s.stage.system.clock().now();
  peers::lease lease{.epoch = 5, .pool = gpu, .endpoint = endpoint, .credits = 4, .number = 3};
  lease.heard = std::chrono::floor<std::chrono::milliseconds>(sent.time_since_epoch());
  lease.left = 10s;
  s.stage.pass(3s);
  s.tell(lease);
  CHECK(s.grant().until <= sent + 10s - limits::lease_margin);
  CHECK(s.grant().until > sent + 10s - limits::lease_margin - 2ms);
  CHECK(s.grant().credits == 4);
  SECTION("and an echo of the future counts from now") {
    lease.heard += 1h;
    s.tell(lease);
    CHECK(s.grant().until == s.stage.system.clock().now() + 10s - limits::lease_margin);
  }
}

TEST_CASE("the leader's word on a pool is the link's answer and the ingress's view") {
  pool_scene s;
  auto before = s.stage.ask<pool_changed>(s.link, pool_question{}).view;
  CHECK(before->pool == gpu);
  CHECK(before->epoch == 5);
  pool::pool_view view{.pool = gpu, .epoch = 5};
  view.replicas.resize(2);
  s.tell(peers::pool_state{5, view});
  CHECK(s.at_ingress->of<pool_changed>().back().view->replicas.size() == 2);
  CHECK(s.stage.ask<pool_changed>(s.link, pool_question{}).view->replicas.size() == 2);
}

TEST_CASE("a ticket that cannot be sent is refused, unless the way is broken and will be mended") {
  pool_scene s;
  s.out.outcome = send_outcome::down;
  s.ask();
  CHECK(s.at_ingress->of<pool::refuse_ticket>().empty());
  s.out.outcome = send_outcome::full;
  s.ask();
  auto refused = s.at_ingress->of<pool::refuse_ticket>();
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].why == pool::ticket_refusal::queue_full);
}

TEST_CASE("more settled tickets than a message takes do not keep the report from leaving") {
  pool_scene s;
  pool::ingress_reported report{.ingress = us, .holdings = {}, .settled = {}};
  report.settled.resize(limits::service_items + 1);
  s.tell(pool::event{report});
  CHECK(s.out.of<peers::ingress_report>().at(0).settled.size() == limits::service_items);
}

// -- INGRESS LINK

TEST_CASE("a remote ingress introduces itself to each pool, and is told the pools first") {
  ingress_scene s;
  REQUIRE(s.at_pool->of<ingress_up>().size() == 1);
  CHECK(s.at_pool->of<ingress_up>()[0].name == us);
  CHECK(s.at_pool->of<listen_to_pool>().size() == 1);
  s.view(4);
  REQUIRE(s.out.said.size() == 2);
  CHECK(std::get<peers::pools_now>(s.out.said[0]) == peers::pools_now{5, {gpu}});
  CHECK(std::get<peers::pool_state>(s.out.said[1]).view.replicas.at(0).slots == 4);
}

TEST_CASE("no lease is said before the ingress's clock was heard, then with its echo") {
  ingress_scene s;
  s.view(4);
  s.grant(1);
  CHECK(s.out.of<peers::lease>().empty());
  s.stage.pass(2s);
  s.report(77ms);
  auto leases = s.out.of<peers::lease>();
  REQUIRE(leases.size() == 1);
  CHECK(leases[0].heard == 77ms);
  CHECK(leases[0].left == limits::lease_life - 2s);
  SECTION("nor after its process started anew, by whose clock the old echo means nothing") {
    s.tell(begin_anew{true});
    CHECK(s.out.of<peers::lease>().size() == 1);
    CHECK(s.lost() == 1);
    s.report(5ms);
    REQUIRE(s.out.of<peers::lease>().size() == 2);
    CHECK(s.out.of<peers::lease>()[1].heard == 5ms);
  }
}

TEST_CASE("while the way is full only the newest view and lease wait, and they arrive") {
  ingress_scene s;
  s.report(1ms);
  s.view(1);
  s.out.said.clear();
  s.out.outcome = send_outcome::full;
  for (std::uint32_t slots = 2; slots <= 9; ++slots) {
    s.view(slots);
    s.grant(slots);
    s.say(pool::refuse_ticket{.ingress = us, .ticket = slots});
  }
  s.out.outcome = send_outcome::queued;
  s.stage.pass(limits::pool_tick);
  auto views = s.out.of<peers::pool_state>();
  REQUIRE(views.size() == 1);
  CHECK(views[0].view.replicas.at(0).slots == 9);
  REQUIRE(s.out.of<peers::lease>().size() == 1);
  CHECK(s.out.of<peers::lease>()[0].number == 9);
  CHECK(s.out.of<peers::ticket_refuse>().size() == 8);
  CHECK(s.out.of<peers::ticket_refuse>()[0].pool == gpu);
  CHECK(std::holds_alternative<peers::pool_state>(s.out.said[0]));
  CHECK(std::holds_alternative<peers::lease>(s.out.said[1]));
}

TEST_CASE("answers to tickets wait up to the limit, and the oldest go") {
  ingress_scene s;
  s.view(1);
  s.out.outcome = send_outcome::full;
  for (std::uint64_t ticket = 0; ticket <= limits::ticket_answers_waiting; ++ticket)
    s.say(pool::refuse_ticket{.ingress = us, .ticket = ticket});
  s.out.outcome = send_outcome::queued;
  s.stage.pass(limits::pool_tick);
  auto answers = s.out.of<peers::ticket_refuse>();
  CHECK(answers.size() == limits::ticket_answers_waiting);
  CHECK(answers.front().ticket == 1);
}

TEST_CASE("a view that fits no frame does not hold up what comes after it") {
  ingress_scene s;
  s.report(1ms);
  s.out.outcome = send_outcome::invalid;
  s.view(1);
  s.out.outcome = send_outcome::queued;
  s.grant(1);
  CHECK(s.out.of<peers::lease>().size() == 1);
  CHECK(s.out.of<peers::pool_state>().empty());
}

TEST_CASE("what was said before is said again when the ingress begins anew or is reached again") {
  ingress_scene s;
  s.report(1ms);
  s.view(4);
  s.grant(1);
  s.out.said.clear();
  SECTION("by a hello") {
    s.tell(begin_anew{});
  }
  SECTION("by a connection") {
    s.tell(reached{false});
    s.grant(2);
    CHECK(s.out.said.empty());
    s.tell(reached{true});
  }
  REQUIRE(s.out.said.size() == 3);
  CHECK(std::holds_alternative<peers::pools_now>(s.out.said[0]));
  CHECK(std::holds_alternative<peers::pool_state>(s.out.said[1]));
  CHECK(std::holds_alternative<peers::lease>(s.out.said[2]));
}

TEST_CASE("what the ingress says reaches the pool in its name, times counted from now") {
  ingress_scene s;
  s.tell(peers::ticket_ask{.epoch = 5, .pool = gpu, .ticket = 3, .left = 4s});
  s.tell(peers::ticket_withdraw{5, gpu, 3});
  s.tell(peers::ticket_withdraw{5, {"elsewhere"}, 3});
  auto asked = s.at_pool->events<pool::ticket_asked>();
  REQUIRE(asked.size() == 1);
  CHECK(asked[0].ingress == us);
  CHECK(asked[0].deadline == s.stage.system.clock().now() + 4s);
  CHECK(s.at_pool->events<pool::ticket_withdrawn>().size() == 1);
}

TEST_CASE("an ingress is lost to its pools after its silence, once, and found by its next report") {
  ingress_scene s;
  s.report(1ms);
  s.stage.pass(limits::ingress_silence - limits::pool_tick);
  CHECK(s.lost() == 0);
  s.stage.pass(limits::pool_tick);
  CHECK(s.lost() == 1);
  s.stage.pass(limits::pool_tick);
  CHECK(s.lost() == 1);
  auto before = s.at_pool->events<pool::ingress_reported>().size();
  s.report(2ms);
  CHECK(s.at_pool->events<pool::ingress_reported>().size() == before + 1);
  SECTION("while it is not reached its reports alone do not bring it back") {
    s.tell(reached{false});
    for (int i = 0; i < 20; ++i) {
      s.stage.pass(limits::pool_tick);
      s.report(3ms);
    }
    CHECK(s.lost() == 2);
    auto heard = s.at_pool->events<pool::ingress_reported>().size();
    s.report(4ms);
    CHECK(s.at_pool->events<pool::ingress_reported>().size() == heard);
    s.tell(reached{true});
    s.report(5ms);
    CHECK(s.at_pool->events<pool::ingress_reported>().size() == heard + 1);
  }
}

TEST_CASE("questions that only the ingress itself can answer are refused with where to go") {
  ingress_scene s;
  auto answer = s.stage.ask<explain_answer>(s.link, explain_question{"m", "", {}, {}});
  REQUIRE_FALSE(answer.what);
  CHECK(answer.what.error().what == "ingress 'in' is in another process");
  CHECK(s.stage.ask<routes_answer>(s.link, routes_question{}).ingresses.empty());
}

} // namespace assay
