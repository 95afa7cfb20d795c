// JOB QUEUE on a stage: DISPATCHER only listens, pools are views, the ledger applies for real.

#include "actors/job_queue.hpp"
#include "src/base/limits.hpp"
#include "tests/support/fake_actors.hpp"
#include "tests/support/fake_ledger.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay {

namespace {

using ledger::job_priority;
using ledger::test::impl_a;
const job_id early{"j-1"};
const job_id late{"j-2"};

/// Model `m` is carried by `impl_a`, interactive and batch.
ledger::test::world promoted_site() {
  auto w = ledger::test::world::site();
  w.now = std::max(w.now, wall_now());
  ledger::test::qualify(w, {"qa"}, impl_a);
  ledger::test::promote(w, "m-1", impl_a, {"qa"});
  return w;
}

struct scene {
  test::stage stage;
  test::fake_ledger ledger{stage, promoted_site()};
  test::inbox_ptr at_dispatcher = test::new_inbox();
  dispatcher_actor dispatcher = stage.system.spawn(test::fake_dispatcher, at_dispatcher);
  job_queue_actor queue = make();

  ~scene() {
    stage.end(queue);
    stage.end(dispatcher);
  }

  job_queue_actor make() {
    auto made = stage.system.spawn(job_queue_behavior, job_queue_options{ledger.actor, dispatcher});
    ledger.tell(made);
    return made;
  }

  template <class Message>
  void tell(Message what) {
    stage.self->send(queue, std::move(what));
    stage.settle();
  }
  void submit(const job_id& id, job_priority priority = job_priority::normal) {
    ledger.must(ledger::job_submitted{
      id, {"lab"}, {"k"}, {"m"}, sha256("input"), 10, priority, "", {}});
  }
  void end(const job_id& id) {
    ledger.must(ledger::job_ended{id, ledger::job_end::cancelled, 0, 0, "enough"});
  }
  /// One replica of four slots; so many people wait for one.
  void view(std::uint32_t waiting = 0) {
    pool::pool_view view{
      .pool = {"cpu-a"},
      .epoch = 1,
      .hosts = {},
      .replicas = {},
      .implementations = {},
      .queue = {}};
    pool::replica_view replica;
    replica.implementation = impl_a;
    replica.takes_traffic = true;
    replica.slots = 4;
    view.replicas.push_back(replica);
    view.queue.waiting[0] = waiting;
    tell(pool_changed{std::make_shared<const pool::pool_view>(std::move(view))});
    stage.pass(limits::job_queue_tick);
  }

  /// Windows that this job was given, oldest first.
  std::vector<std::uint32_t> windows(const job_id& id) const {
    std::vector<std::uint32_t> given;
    for (const auto& one : at_dispatcher->of<run_job>())
      if (one.job.id == id)
        given.push_back(one.window);
    return given;
  }
  job_answer job(const job_id& id) { return stage.ask<job_answer>(queue, job_question{id}); }
  result<jobs::state, problem> wish(const job_id& id) {
    return stage.ask<job_wish_answer>(queue, job_wish{id, jobs::event::cancel, "enough"}).what;
  }
};

} // namespace

TEST_CASE("the first job of a model runs in what is free, and the next one knows why it waits") {
  scene s;
  s.view();
  s.submit(early);
  s.submit(late, job_priority::backfill);
  CHECK(s.windows(early).back() == 3);
  CHECK(s.windows(late).empty());
  CHECK(s.job(early).state == jobs::state::running);
  CHECK(s.job(late).state == jobs::state::queued);
  CHECK(s.job(late).why.find(early.value) != std::string::npos);
}

TEST_CASE("a job that nothing can run has a window of none, says why, and goes on by itself") {
  scene s;
  s.submit(early);
  CHECK(s.windows(early).back() == 0);
  CHECK(s.job(early).state == jobs::state::queued);
  CHECK_FALSE(s.job(early).why.empty());
  s.view();
  CHECK(s.windows(early).back() == 3);
  CHECK(s.job(early).why.empty());
}

TEST_CASE("while a person waits, a job asks for nothing") {
  scene s;
  s.submit(early);
  s.view();
  s.view(1);
  CHECK(s.windows(early).back() == 0);
  CHECK(s.job(early).why == "interactive traffic comes first");
}

TEST_CASE("a job that takes another one's place pauses it, once") {
  scene s;
  s.view();
  s.submit(early);
  s.submit(late, job_priority::urgent);
  CHECK(s.windows(late).back() == 3);
  CHECK(s.windows(early).back() == 0);
  auto before = s.windows(early).size();
  s.stage.pass(limits::job_queue_tick);
  CHECK(s.windows(early).size() == before);
  SECTION("and gives it back when it has ended") {
    s.end(late);
    CHECK(s.windows(early).back() == 3);
    CHECK(s.job(early).state == jobs::state::running);
  }
}

TEST_CASE("a job that has ended is not given again") {
  scene s;
  s.view();
  s.submit(early);
  s.end(early);
  auto before = s.windows(early).size();
  s.stage.pass(limits::job_queue_tick);
  s.stage.pass(limits::job_queue_tick);
  CHECK(s.windows(early).size() == before);
}

TEST_CASE("a wish about an open job reaches DISPATCHER; about no job or an ended one, nobody") {
  scene s;
  s.submit(early);
  s.submit(late);
  s.end(late);
  CHECK(s.wish({"j-x"}).error().kind == problem_kind::not_found);
  CHECK(s.wish(late).error().kind == problem_kind::refused);
  CHECK(s.at_dispatcher->of<wind_up_job>().empty());
  auto answer =
    s.stage.self->request(s.queue, caf::infinite, job_wish{early, jobs::event::cancel, "enough"});
  s.stage.settle();
  REQUIRE_FALSE(s.at_dispatcher->of<wind_up_job>().empty());
  CHECK(s.at_dispatcher->of<wind_up_job>()[0].job == early);
  CHECK(s.stage.self->mailbox().empty()); // Nothing is acknowledged that a crash could undo.
  s.end(early);
  auto is_acknowledged = false;
  answer.receive(
    [&](const job_wish_answer& done) { is_acknowledged = done.what.has_value(); },
    [](const caf::error&) {}
  );
  CHECK(is_acknowledged);
}

TEST_CASE("an end that is not on record is asked for again, and the job is not given meanwhile") {
  scene s;
  s.view();
  s.submit(early);
  s.stage.self->request(s.queue, caf::infinite, job_wish{early, jobs::event::cancel, "enough"});
  s.stage.settle();
  const auto given = s.windows(early).size();
  s.stage.pass(limits::proposal_patience);
  s.stage.pass(limits::job_queue_tick);
  const auto asked = s.at_dispatcher->of<wind_up_job>();
  REQUIRE(asked.size() == 2);
  CHECK(asked[1].why == "enough");
  CHECK(s.windows(early).size() == given);
  s.end(early);
  s.stage.pass(limits::proposal_patience);
  CHECK(s.at_dispatcher->of<wind_up_job>().size() == 2);
}

TEST_CASE("a JOB QUEUE whose DISPATCHER ends by itself ends with it") {
  scene s;
  s.stage.self->monitor(s.queue);
  caf::anon_send_exit(s.dispatcher, caf::exit_reason::unhandled_exception);
  s.stage.settle();
  REQUIRE(s.stage.self->has_next_message());
  s.stage.self->receive([](const caf::down_msg& down) {
    CHECK(down.reason == caf::exit_reason::unhandled_exception);
  });
}

TEST_CASE("a new JOB QUEUE gives the open jobs at once") {
  scene s;
  s.view();
  s.submit(early);
  s.stage.end(s.queue);
  s.at_dispatcher->clear();
  s.queue = s.make();
  CHECK(s.windows(early) == std::vector<std::uint32_t>{0});
  s.view();
  CHECK(s.windows(early).back() == 3);
}

} // namespace assay
