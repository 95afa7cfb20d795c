// Between the ledger's rows of jobs and what src/jobs decides about them.

#include "src/ledger/working.hpp"
#include "tests/unit/ledger/world.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::ledger::test {

namespace {

const job_id job{"j"};
const model_id m{"m"};

world with_job(std::uint64_t items = 10) {
  auto w = world::site();
  w.must(job_submitted{
    job, {"lab"}, {"k"}, m, some_digest("input"), items, job_priority::urgent, "nightly", {}});
  return w;
}

jobs::checkpoint part(std::uint32_t number, std::uint32_t first, std::uint32_t end) {
  return {.number = number, .first = first, .end = end, .blob = some_digest("b"), .good = 1};
}

using views = std::map<pool_id, std::shared_ptr<const pool::pool_view>>;

views view_of(const implementation_id& id, std::uint32_t slots, std::uint32_t in_flight) {
  pool::pool_view view{
    .pool = {"cpu-a"}, .epoch = 1, .hosts = {}, .replicas = {}, .implementations = {}, .queue = {}};
  pool::replica_view one;
  one.implementation = id;
  one.takes_traffic = true;
  one.slots = slots;
  one.in_flight = in_flight;
  view.replicas.push_back(one);
  view.queue.waiting[0] = 3;
  return {{{"cpu-a"}, std::make_shared<const pool::pool_view>(std::move(view))}};
}

} // namespace

TEST_CASE("checkpoints come back from the ledger as they went in") {
  auto w = with_job();
  std::vector in{part(0, 0, 4), part(1, 4, 5), part(2, 5, 10)};
  for (const auto& one : in)
    REQUIRE(w.code_of_state(ledger::entry_of(job, one, one.blob)) == "taken");
  CHECK(stored_checkpoints(w.t, job) == in);
  CHECK(stored_checkpoints(w.t, {"other"}).empty());
}

TEST_CASE("every blob that the ledger names is named: a job's input, and each part of its output") {
  auto w = with_job();
  REQUIRE(w.code_of_state(ledger::entry_of(job, part(0, 0, 4), some_digest("b"))) == "taken");
  std::set<digest> named;
  for_each_blob(w.t, [&](const digest& blob) { named.insert(blob); });
  CHECK(named == std::set{some_digest("input"), some_digest("b")});
}

TEST_CASE("tables in which a job went on name other blobs, and those in which a policy came do not"
) {
  auto w = with_job();
  auto before = w.t;
  w.must(declared{catalog::project{.name = {"another"}}});
  CHECK(names_same_blobs(before, w.t));
  REQUIRE(w.code_of_state(ledger::entry_of(job, part(0, 0, 4), some_digest("b"))) == "taken");
  CHECK_FALSE(names_same_blobs(before, w.t));
}

TEST_CASE("the evidence of a run is named") {
  auto t = world::site().t;
  run_row row;
  row.run.id = "r";
  row.run.blobs = {some_digest("e"), digest{}};
  t.load(row);
  std::set<digest> named;
  for_each_blob(t, [&](const digest& blob) { named.insert(blob); });
  CHECK(named == std::set{some_digest("e")});
}

TEST_CASE("a job waits with what is left of it until it ends") {
  auto w = with_job();
  CHECK(waiting_jobs(w.t).at(0).items_left == 10);
  REQUIRE(w.code_of_state(ledger::entry_of(job, part(0, 0, 4), some_digest("b"))) == "taken");
  auto waiting = waiting_jobs(w.t);
  REQUIRE(waiting.size() == 1);
  CHECK(waiting[0].items_left == 6);
  CHECK(waiting[0].priority == jobs::priority::urgent);
  w.must(end_of(job, jobs::event::cancel, "enough", {1, 4, 1, 0}));
  CHECK(waiting_jobs(w.t).empty());
}

TEST_CASE("a job's time is over a day after it was submitted, and not before") {
  auto w = with_job();
  const auto over = spec_of(w.t.jobs->at(job)).expires_at;
  CHECK(over.value - w.t.jobs->at(job).submitted_at.value == 86'400'000);
  CHECK(overdue_jobs(w.t, {over.value - 1}).empty());
  CHECK(overdue_jobs(w.t, over) == std::vector{job});
  w.must(end_of(job, jobs::event::expire, "its time is over", {}));
  CHECK(overdue_jobs(w.t, over).empty());
}

TEST_CASE("the end of a job counts what failed beside what was good") {
  jobs::progress done{.checkpoints = 2, .next_item = 10, .good = 7, .output_bytes = 0};
  auto end = end_of(job, jobs::event::finish, "", done);
  CHECK(end.end == job_end::finished);
  CHECK(end.succeeded == 7);
  CHECK(end.failed == 3);
  CHECK(end_of(job, jobs::event::cancel, "", done).end == job_end::cancelled);
  CHECK(end_of(job, jobs::event::expire, "", done).end == job_end::failed);
  CHECK(end_of(job, jobs::event::fail, "", done).end == job_end::failed);
}

TEST_CASE("a model that nothing carries has no slots, and the sentence says what to do") {
  auto w = with_job();
  CHECK(slots_for(w.t, view_of(impl_a, 4, 1), m, 0).slots == 0);
  CHECK(why_no_batch(w.t, m, w.now).ends_with("promote an implementation"));
  CHECK(why_no_batch(w.t, {"x"}, w.now) == "there is no model 'x'");
}

TEST_CASE("slots are those of replicas whose implementation carries batch; our own work is not "
          "interactive") {
  auto w = with_job();
  qualify(w, {"q"}, impl_a);
  promote(w, "mv", impl_a, {"q"});
  CHECK(why_no_batch(w.t, m, w.now).empty());
  auto seen = slots_for(w.t, view_of(impl_a, 4, 3), m, 1);
  CHECK(seen.slots == 4);
  CHECK(seen.interactive_in_flight == 2);
  CHECK(seen.interactive_waiting == 3);
  // The view may be older than our own count.
  CHECK(slots_for(w.t, view_of(impl_a, 4, 1), m, 2).interactive_in_flight == 0);
  CHECK(slots_for(w.t, view_of(impl_b, 4, 3), m, 0).slots == 0);
}

} // namespace assay::ledger::test
