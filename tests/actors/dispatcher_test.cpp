// DISPATCHER on a stage: what it asks, reads and keeps lies in lists until the test answers, the
// ledger applies for real.

#include "actors/dispatcher.hpp"
#include "src/base/peer_limits.hpp"
#include "src/ledger/working.hpp"
#include "tests/support/fake_ledger.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay {

namespace {

const job_id job{"j"};
const std::string input = "{\"prompt\":\"one\"}\n{\"prompt\":\"two\"}\n{\"prompt\":\"three\"}\n";
const problem full_disk{problem_kind::unavailable, "the disk is full", {}, "free some"};

ledger::test::world site_with_job() {
  auto w = ledger::test::world::site();
  w.must(ledger::job_submitted{
    job, {"lab"}, {"k"}, {"m"}, sha256(input), 3, ledger::job_priority::normal, "", {}});
  return w;
}

struct scene {
  struct asked {
    jobs::request what;
    std::function<void(item_answered)> done;
  };
  struct kept {
    std::string bytes;
    std::function<void(result<digest, problem>)> done;
  };

  test::stage stage;
  test::fake_ledger ledger{stage, site_with_job()};
  std::vector<asked> asks;
  std::vector<std::function<void(result<std::string, problem>)>> reads;
  std::vector<kept> keeps;
  dispatcher_actor dispatcher = make();

  ~scene() { stage.end(dispatcher); }

  dispatcher_actor make() {
    auto made = stage.system.spawn(
      dispatcher_behavior,
      dispatcher_options{
        ledger.actor,
        [this](const auto& what, auto done) {
          asks.push_back({what, std::move(done)});
        },
        [this](const auto&, auto done) { reads.push_back(std::move(done)); },
        [this](auto bytes, auto done) {
          keeps.push_back({std::move(bytes), std::move(done)});
        }}
    );
    ledger.tell(made);
    return made;
  }

  template <class Message>
  void tell(Message what) {
    stage.self->send(dispatcher, std::move(what));
    stage.settle();
  }
  void run(std::uint32_t window) {
    tell(run_job{ledger::spec_of(ledger.world.t.jobs->at(job)), window});
  }
  void cancel() { tell(wind_up_job{job, jobs::event::cancel, "enough"}); }
  void load() {
    reads.back()(input);
    stage.settle();
  }
  void start(std::uint32_t window) {
    run(window);
    load();
  }
  void answer(std::size_t ask, int status = 200) {
    item_answered one;
    one.status = status;
    one.body = "{}";
    asks.at(ask).done(one);
    stage.settle();
  }
  void keep(std::size_t at) {
    keeps.at(at).done(sha256(keeps.at(at).bytes));
    stage.settle();
  }
  void tick() { stage.pass(limits::dispatcher_tick); }

  std::vector<ledger::job_ended> ends() const { return ledger.all<ledger::job_ended>(); }
  std::size_t checkpoints() const { return ledger.world.t.checkpoints->size(); }
};

} // namespace

TEST_CASE("a job's input is read once, however often JOB QUEUE gives the job") {
  scene s;
  s.run(1);
  s.run(2);
  REQUIRE(s.reads.size() == 1);
  s.load();
  CHECK(s.asks.size() == 2);
  SECTION("and an input that comes twice starts nothing again") {
    s.load();
    CHECK(s.asks.size() == 2);
  }
  SECTION("and the window that counts is the last one given") {
    s.run(0);
    s.answer(0);
    s.answer(1);
    CHECK(s.asks.size() == 2);
    s.run(1);
    CHECK(s.asks.size() == 3);
  }
}

TEST_CASE("a job ends on the ledger after its last checkpoint, and once") {
  scene s;
  s.start(3);
  for (std::size_t i = 0; i < 3; ++i)
    s.answer(i);
  REQUIRE(s.keeps.size() == 1);
  s.ledger.is_held = true;
  s.keep(0);
  CHECK(s.ledger.waiting() == 1);
  s.ledger.release();
  s.stage.settle();
  CHECK(s.checkpoints() == 1);
  CHECK(s.ends().empty());
  CHECK(s.ledger.waiting() == 1);
  s.ledger.is_held = false;
  s.ledger.release();
  s.stage.settle();
  REQUIRE(s.ends().size() == 1);
  CHECK(s.ends()[0].end == ledger::job_end::finished);
  CHECK(s.ends()[0].succeeded == 3);
  SECTION("and what comes later changes nothing") {
    s.answer(0);
    s.keep(0);
    s.run(3);
    s.tick();
    CHECK(s.reads.size() == 1);
    CHECK(s.keeps.size() == 1);
    CHECK(s.ends().size() == 1);
    CHECK(s.ledger.refused.empty());
  }
}

TEST_CASE("an item that nobody answered is asked again, and its first answer is too late") {
  scene s;
  s.start(1);
  s.answer(0, 0);
  CHECK(s.asks.size() == 1);
  s.tick();
  REQUIRE(s.asks.size() == 2);
  CHECK(s.asks[1].what.custom_id == s.asks[0].what.custom_id);
  s.answer(0);
  CHECK(s.asks.size() == 2);
  s.answer(1);
  CHECK(s.asks.size() == 3);
}

TEST_CASE("a checkpoint that could not be kept is kept with the next tick, the very same") {
  scene s;
  s.start(3);
  for (std::size_t i = 0; i < 3; ++i)
    s.answer(i);
  s.keeps[0].done(unexpected{full_disk});
  s.stage.settle();
  CHECK(s.keeps.size() == 1);
  s.tick();
  REQUIRE(s.keeps.size() == 2);
  CHECK(s.keeps[1].bytes == s.keeps[0].bytes);
  CHECK(s.ends().empty());
  s.keep(1);
  CHECK(s.ends().size() == 1);
}

TEST_CASE("a checkpoint that the ledger took without answering is there once") {
  scene s;
  s.start(3);
  for (std::size_t i = 0; i < 3; ++i)
    s.answer(i);
  s.ledger.is_held = true;
  s.keep(0);
  s.stage.pass(limits::proposal_patience);
  s.tick();
  REQUIRE(s.keeps.size() == 2);
  s.keep(1);
  s.ledger.is_held = false;
  s.ledger.release();
  s.stage.settle();
  CHECK(s.checkpoints() == 1);
  CHECK(s.ledger.refused.empty());
  REQUIRE(s.ends().size() == 1);
  CHECK(s.ends()[0].succeeded == 3);
}

TEST_CASE("a job whose input cannot be read fails, and says why") {
  scene s;
  s.run(1);
  s.reads[0](unexpected{problem{problem_kind::not_found, "the blob is gone", {}, {}}});
  s.stage.settle();
  REQUIRE(s.ends().size() == 1);
  CHECK(s.ends()[0].end == ledger::job_end::failed);
  CHECK(s.ends()[0].detail.find("the blob is gone") != std::string::npos);
}

TEST_CASE("a job whose input cannot be read now is given back, and begun again after a while") {
  scene s;
  s.run(1);
  s.reads[0](unexpected{problem{problem_kind::unavailable, "b cannot be reached", {}, {}}});
  s.stage.settle();
  s.run(1);
  CHECK(s.reads.size() == 1);
  CHECK(s.ends().empty());
  s.stage.pass(limits::blob_work_again);
  s.run(1);
  REQUIRE(s.reads.size() == 2);
  s.load();
  CHECK(s.asks.size() == 1);
}

TEST_CASE("a job whose input cannot be read now can be cancelled") {
  scene s;
  s.run(1);
  SECTION("before that is known") {
    s.cancel();
    s.reads[0](unexpected{full_disk});
  }
  SECTION("and after") {
    s.reads[0](unexpected{full_disk});
    s.stage.settle();
    s.cancel();
  }
  s.stage.settle();
  REQUIRE(s.ends().size() == 1);
  CHECK(s.ends()[0].end == ledger::job_end::cancelled);
}

TEST_CASE("a job that is cancelled before its input came asks for nothing") {
  scene s;
  s.run(3);
  s.cancel();
  CHECK(s.ends().empty());
  s.load();
  CHECK(s.asks.empty());
  REQUIRE(s.ends().size() == 1);
  CHECK(s.ends()[0].end == ledger::job_end::cancelled);
}

TEST_CASE("a job that is cancelled keeps what is done, and waits so long for the rest") {
  scene s;
  s.start(2);
  s.answer(0);
  s.cancel();
  s.cancel();
  CHECK(s.ends().empty());
  s.stage.pass(limits::job_wind_up);
  for (std::size_t i = 0; i < s.keeps.size(); ++i)
    s.keep(i);
  REQUIRE(s.ends().size() == 1);
  CHECK(s.ends()[0].end == ledger::job_end::cancelled);
  CHECK(s.ends()[0].succeeded == 1);
  CHECK(s.checkpoints() == 1);
}

TEST_CASE("a job that nobody runs is ended at once, with one proposal") {
  scene s;
  s.ledger.is_held = true;
  s.cancel();
  s.cancel();
  s.run(3);
  CHECK(s.ledger.waiting() == 1);
  CHECK(s.reads.empty());
  s.ledger.release();
  s.stage.settle();
  REQUIRE(s.ends().size() == 1);
  CHECK(s.ends()[0].end == ledger::job_end::cancelled);
}

TEST_CASE("a job whose end was not recorded is worked on again when JOB QUEUE gives it") {
  scene s;
  s.run(1);
  s.ledger.is_held = true;
  s.reads[0](unexpected{problem{problem_kind::not_found, "the blob is gone", {}, {}}});
  s.stage.settle();
  CHECK(s.ledger.waiting() == 1);
  s.stage.pass(limits::proposal_patience);
  s.run(1);
  CHECK(s.reads.size() == 2);
}

TEST_CASE("a new DISPATCHER asks for the items that no checkpoint holds") {
  scene s;
  s.start(1);
  s.answer(0);
  s.stage.pass(limits::checkpoint_every);
  REQUIRE(s.keeps.size() == 1);
  s.keep(0);
  s.stage.end(s.dispatcher);
  s.asks.clear();
  s.dispatcher = s.make();
  s.start(3);
  REQUIRE(s.asks.size() == 2);
  CHECK(s.asks[0].what.custom_id == "line-2");
  CHECK(s.asks[1].what.custom_id == "line-3");
}

} // namespace assay
