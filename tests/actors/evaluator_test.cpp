// EVALUATOR on a stage: an engine of a few rules answers when the test says so, evidence is kept
// when the test says so, the ledger applies for real.

#include "actors/evaluator.hpp"
#include "src/base/peer_limits.hpp"
#include "tests/support/fake_ledger.hpp"
#include "tests/unit/qualification/fake_engine.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay {

namespace {

using namespace std::chrono_literals;
using ledger::test::impl_a;
using ledger::test::impl_b;
using qualification::state;
const ledger::author asker{"op", ledger::authentication::socket};

/// One contract check and twenty items that the fake engine gets right.
std::string suite_text() {
  std::string text = "suite: s\ncontract: [unary_schema]\nretries: 1\nitems:\n";
  for (int i = 0; i < 20; ++i) {
    auto word = "word" + std::to_string(i);
    text += "  - id: " + word + "\n    ask: " + word + "\n    expect: {contains: " + word + "}\n";
  }
  return text;
}

ledger::test::world site_with_suite() {
  auto w = ledger::test::world::site();
  w.must(ledger::declared{catalog::suite_document{{"s"}, suite_text(), sha256(suite_text())}});
  return w;
}

struct scene {
  struct asked {
    qualification::ask what;
    ask_target where;
    std::function<void(qualification::run_event)> done;
  };
  struct kept {
    std::string bytes;
    std::function<void(result<digest, problem>)> done;
  };

  test::stage stage;
  test::fake_ledger ledger;
  std::vector<asked> asks;
  std::vector<kept> keeps;
  qualification::test::fake_engine engine;
  evaluator_actor evaluator = stage.system.spawn(
    evaluator_behavior,
    evaluator_options{
      ledger.actor,
      [this](const auto& what, const auto& where, auto done) {
        asks.push_back({what, where, std::move(done)});
      },
      [this](auto bytes, auto done) {
        keeps.push_back({std::move(bytes), std::move(done)});
      }}
  );

  explicit scene(ledger::test::world start = site_with_suite()) : ledger{stage, std::move(start)} {
    ledger.tell(evaluator);
  }
  ~scene() { stage.end(evaluator); }

  template <class Message>
  void tell(Message what) {
    stage.self->send(evaluator, std::move(what));
    stage.settle();
  }
  /// Pool `cpu-a` (or `cpu-b`) has one replica on this stack; none without a stack.
  void view(const std::string& stack, const implementation_id& of = impl_a) {
    pool::pool_view view;
    view.pool = {of == impl_a ? "cpu-a" : "cpu-b"};
    if (!stack.empty()) {
      pool::replica_view one;
      one.implementation = of;
      one.host = {"h1"};
      one.phase = pool::phase::ready;
      one.takes_traffic = true;
      one.fingerprint = ledger::test::some_digest(stack);
      view.replicas.push_back(one);
    }
    tell(pool_changed{std::make_shared<const pool::pool_view>(std::move(view))});
  }

  auto ask_to_qualify(const implementation_id& id = impl_a) {
    auto pending = stage.self->request(evaluator, caf::infinite, qualify{id, asker, "test"});
    stage.settle();
    return pending;
  }
  template <class Pending>
  static result<qualification_id, problem> answer_to(Pending pending) {
    std::optional<qualify_answer> got;
    pending.receive(
      [&](qualify_answer& one) { got = std::move(one); },
      [](const caf::error& why) { FAIL(to_string(why)); }
    );
    return got->what;
  }
  result<qualification_id, problem> qualify_it(const implementation_id& id = impl_a) {
    return answer_to(ask_to_qualify(id));
  }

  void answer(std::size_t at) {
    auto what = asks.at(at).what;
    auto got = engine(what);
    asks.at(at).done(qualification::answered{what.number, *got});
    stage.settle();
  }
  /// Answers everything that is asked until nothing more is.
  void answer_all() {
    for (std::size_t at = 0; at < asks.size(); ++at)
      answer(at);
  }
  void keep() {
    keeps.back().done(sha256(keeps.back().bytes));
    stage.settle();
  }
  bool is_running(const qualification_id& id) {
    return stage.ask<run_answer>(evaluator, run_question{id}).running;
  }
  qualification::state state_of(const qualification_id& id) {
    return ledger.world.t.qualifications->at(id).state;
  }
  std::size_t suspensions() const {
    std::size_t count = 0;
    for (const auto& one : ledger.all<ledger::qualification_changed>())
      count += one.event == qualification::event::drift ? 1 : 0;
    return count;
  }
};

ledger::test::world qualified_site() {
  auto w = site_with_suite();
  w.now = std::max(w.now, wall_now());
  ledger::test::qualify(w, {"qa"}, impl_a);
  return w;
}

} // namespace

TEST_CASE("a run begins in its asker's name and is judged in EVALUATOR's") {
  scene s;
  s.view("stack 1");
  auto id = s.qualify_it();
  REQUIRE(id);
  CHECK(s.state_of(*id) == state::evaluating);
  CHECK(s.ledger.taken.front().author == asker);
  REQUIRE(s.asks.size() == 1);
  CHECK(s.asks[0].where.implementation == impl_a);
  CHECK(s.asks[0].where.fingerprint == ledger::test::some_digest("stack 1"));
  s.answer_all();
  CHECK(s.asks.size() == 21);
  CHECK(s.is_running(*id));
  REQUIRE(s.keeps.size() == 1);
  s.keep();
  CHECK(s.state_of(*id) == state::qualified);
  CHECK(s.ledger.taken.back().author.who == "EVALUATOR");
  CHECK_FALSE(s.is_running(*id));
  CHECK(s.ledger.refused.empty());
}

TEST_CASE("what is not there, or does not run, is not evaluated, and says why") {
  scene s;
  CHECK(s.qualify_it({"m/cpu-a/x"}).error().kind == problem_kind::not_found);
  CHECK(s.qualify_it().error().kind == problem_kind::unavailable);
  CHECK(s.ledger.taken.empty());
}

TEST_CASE("who asks for a run that is about to begin gets that one") {
  scene s;
  s.view("stack 1");
  s.ledger.is_held = true;
  auto one = s.ask_to_qualify();
  auto other = s.ask_to_qualify();
  CHECK(s.ledger.waiting() == 1);
  s.ledger.is_held = false;
  s.ledger.release();
  s.stage.settle();
  auto first = s.answer_to(one);
  auto second = s.answer_to(other);
  REQUIRE(first);
  REQUIRE(second);
  CHECK(*first == *second);
  CHECK(s.ledger.all<ledger::qualification_opened>().size() == 1);
  CHECK(s.asks.size() == 1);
}

TEST_CASE("a run whose beginning was not recorded is none, and can be asked for again") {
  scene s;
  s.view("stack 1");
  s.ledger.is_held = true;
  auto pending = s.ask_to_qualify();
  s.stage.pass(limits::proposal_patience);
  CHECK(s.answer_to(pending).error().kind == problem_kind::unavailable);
  CHECK(s.asks.empty());
  s.ledger.is_held = false;
  s.ledger.release();
  s.stage.settle();
  CHECK(s.qualify_it());
  CHECK(s.asks.size() == 1);
  CHECK(s.ledger.all<ledger::qualification_opened>().size() == 1);
}

TEST_CASE("an answer that comes twice is counted once") {
  scene s;
  s.view("stack 1");
  REQUIRE(s.qualify_it());
  s.answer(0);
  s.answer(0);
  CHECK(s.asks.size() == 2);
}

TEST_CASE("a run whose stack is no longer there ends inconclusive, with the reason") {
  scene s;
  s.view("stack 1");
  auto id = s.qualify_it();
  REQUIRE(id);
  s.answer(0);
  s.view("stack 2");
  REQUIRE(s.keeps.size() == 1);
  s.keep();
  CHECK_FALSE(s.is_running(*id));
  CHECK(s.state_of(*id) == state::inconclusive);
  CHECK(s.ledger.all<ledger::qualification_decided>().size() == 1);
  for (const auto& run : s.ledger.all<ledger::eval_run>())
    CHECK(run.status == ledger::run_status::aborted);
  s.answer(1);
  CHECK(s.asks.size() == 2);
}

TEST_CASE("an ask that waited to be repeated is not sent after the end of its run") {
  scene s;
  s.view("stack 1");
  auto id = s.qualify_it();
  REQUIRE(id);
  s.engine.status = 503;
  s.answer(0);
  CHECK(s.asks.size() == 1);
  SECTION("of a run that goes on it is") {
    s.stage.pass(1s);
    CHECK(s.asks.size() == 2);
  }
  SECTION("of one that was stopped it is not") {
    s.tell(stop_run{*id, "enough"});
    s.stage.pass(1s);
    CHECK(s.asks.size() == 1);
  }
}

TEST_CASE("what an earlier process left in the middle is inconclusive, with the reason") {
  auto w = site_with_suite();
  w.must(ledger::qualification_opened{{"left"}, impl_a, {"s"}});
  w.must(ledger::qualification_changed{{"left"}, qualification::event::start, {}, {}});
  scene s{std::move(w)};
  CHECK(s.state_of({"left"}) == state::inconclusive);
}

TEST_CASE("evidence that could not be kept is kept a while later, the very same") {
  scene s;
  s.view("stack 1");
  auto id = s.qualify_it();
  REQUIRE(id);
  s.answer_all();
  s.keeps[0].done(unexpected{problem{problem_kind::unavailable, "1 of 3", {}, {}}});
  s.stage.settle();
  CHECK(s.keeps.size() == 1);
  CHECK(s.is_running(*id));
  s.stage.pass(limits::blob_work_again);
  REQUIRE(s.keeps.size() == 2);
  CHECK(s.keeps[1].bytes == s.keeps[0].bytes);
  s.keeps[1].done(sha256(s.keeps[1].bytes));
  s.stage.settle();
  CHECK_FALSE(s.is_running(*id));
  auto runs = s.ledger.all<ledger::eval_run>();
  REQUIRE_FALSE(runs.empty());
  for (const auto& one : runs)
    CHECK(one.blobs == std::vector{sha256(s.keeps[0].bytes)});
}

TEST_CASE("without its evidence a run is inconclusive, and can be run again") {
  scene s;
  s.view("stack 1");
  auto id = s.qualify_it();
  REQUIRE(id);
  s.answer_all();
  for (unsigned tried = 0; tried < limits::evidence_tries; ++tried) {
    REQUIRE(s.keeps.size() == tried + 1);
    s.keeps[tried].done(unexpected{problem{problem_kind::unavailable, "a full disk", {}, {}}});
    s.stage.settle();
    s.stage.pass(limits::blob_work_again);
  }
  CHECK_FALSE(s.is_running(*id));
  CHECK(s.ledger.all<ledger::eval_run>().empty());
  CHECK(s.state_of(*id) == state::inconclusive);
  auto again = s.qualify_it();
  REQUIRE(again);
  CHECK(*again == *id);
}

TEST_CASE("what has drifted is suspended with one proposal") {
  scene s{qualified_site()};
  s.ledger.is_held = true;
  s.view("stack 1");
  CHECK(s.ledger.waiting() == 0);
  s.view("stack 2");
  s.view("stack 2");
  CHECK(s.ledger.waiting() == 1);
  SECTION("which suspends it") {
    s.ledger.is_held = false;
    s.ledger.release();
    s.stage.settle();
    CHECK(s.state_of({"qa"}) == state::suspended);
    CHECK(s.suspensions() == 1);
  }
  SECTION("and with another one when the ledger did not answer that") {
    s.stage.pass(limits::proposal_patience);
    s.view("stack 2");
    CHECK(s.ledger.waiting() == 2);
    s.ledger.is_held = false;
    s.ledger.release();
    s.stage.settle();
    CHECK(s.suspensions() == 1);
  }
}

TEST_CASE("a pool that is retired has no replicas to evaluate, not even when it comes back") {
  scene s;
  s.view("stack 1", impl_b);
  using kind = ledger::declaration_kind;
  auto pool = ledger::declared{catalog::pool{.name = {"cpu-b"}}};
  s.ledger.must(ledger::retired{kind::implementation, impl_b.value});
  s.ledger.must(ledger::retired{kind::pool, "cpu-b"});
  s.ledger.must(pool);
  s.ledger.must(ledger::declared{ledger::test::implementation(impl_b, "cpu-b")});
  CHECK(s.qualify_it(impl_b).error().kind == problem_kind::unavailable);
  s.view("stack 1", impl_b);
  CHECK(s.qualify_it(impl_b));
}

} // namespace assay
