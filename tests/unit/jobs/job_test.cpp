#include "src/jobs/job.hpp"
#include "src/jobs/order.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

namespace assay::jobs {

namespace {

waiting_job job(std::string id, std::string project, priority p, std::int64_t submitted) {
  return {{std::move(id)}, {std::move(project)}, p, {submitted}, 10};
}

std::vector<std::string> ids(const std::vector<placed_job>& placed) {
  std::vector<std::string> all;
  for (const auto& p : placed)
    all.push_back(p.id.value);
  return all;
}

} // namespace

TEST_CASE("every open job can be cancelled, failed and expired, and no ended one") {
  for (auto s : states)
    for (auto e : {event::cancel, event::fail, event::expire})
      CHECK(next(s, e).has_value() == !is_final(s));
}

TEST_CASE("only a running job finishes") {
  for (auto s : states)
    CHECK(next(s, event::finish).has_value() == (s == state::running));
}

TEST_CASE("a held job does nothing until it is released") {
  CHECK_FALSE(next(state::held, event::start));
  CHECK(next(state::held, event::release) == state::queued);
}

TEST_CASE("every state, event and priority of a job is read back from its name") {
  for (auto s : states)
    CHECK(parse_state(name(s)) == s);
  for (auto e : events)
    CHECK(parse_event(name(e)) == e);
  for (auto p : {priority::urgent, priority::normal, priority::backfill})
    CHECK(parse_priority(name(p)) == p);
}

TEST_CASE("priority goes before fair share, and fair share before age") {
  usage used;
  used.add({"busy"}, 100, {0});
  const std::vector<waiting_job> jobs = {
    job("old-of-busy", "busy", priority::normal, 1),
    job("new-of-idle", "idle", priority::normal, 9),
    job("newer-of-idle", "idle", priority::normal, 10),
    job("urgent-of-busy", "busy", priority::urgent, 99),
    job("backfill-of-idle", "idle", priority::backfill, 0),
  };
  const auto placed = order(jobs, used, {0});
  CHECK(
    ids(placed)
    == std::vector<
      std::
        string>{"urgent-of-busy", "new-of-idle", "newer-of-idle", "old-of-busy", "backfill-of-idle"}
  );
  CHECK(placed[0].why == "first in the queue");
  CHECK(placed[3].why == "behind newer-of-idle: project idle had 0 items of late, busy had 100");
}

TEST_CASE("the order does not depend on the order in which jobs are told") {
  std::vector<waiting_job> jobs = {
    job("b", "p", priority::normal, 1),
    job("a", "p", priority::normal, 1),
    job("c", "q", priority::normal, 1)};
  const auto first = ids(order(jobs, {}, {0}));
  std::reverse(jobs.begin(), jobs.end());
  CHECK(ids(order(jobs, {}, {0})) == first);
}

TEST_CASE("usage is halved in each half-life and never grows by waiting") {
  usage used;
  used.add({"p"}, 100, {0});
  const auto hour = usage::half_life.count();
  CHECK(used.of({"p"}, {0}) == 100'000);
  CHECK(used.of({"p"}, {hour / 2}) == 75'000);
  CHECK(used.of({"p"}, {hour}) == 50'000);
  CHECK(used.of({"p"}, {hour * 3}) == 12'500);
  CHECK(used.of({"p"}, {hour * 100}) == 0);
  CHECK(used.of({"p"}, {-hour}) == 100'000);
  CHECK(used.of({"q"}, {0}) == 0);
}

TEST_CASE("batch gets what interactive leaves, and nothing while interactive waits") {
  struct row {
    slots_seen seen;
    std::uint32_t window;
  };
  const row rows[] = {
    {{4, 0, 0}, 3},
    {{4, 2, 0}, 1},
    {{4, 3, 0}, 0},
    {{4, 4, 0}, 0},
    {{4, 9, 0}, 0},
    {{4, 0, 1}, 0},
    {{1, 0, 0}, 1},
    {{1, 1, 0}, 0},
    {{2, 0, 0}, 1},
    {{0, 0, 0}, 0},
  };
  for (const auto& r : rows) {
    CAPTURE(r.seen.slots, r.seen.interactive_in_flight, r.seen.interactive_waiting);
    CHECK(batch_window(r.seen) == r.window);
  }
}

} // namespace assay::jobs
