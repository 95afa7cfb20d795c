#include "src/routing/health.hpp"
#include "src/routing/health_limits.hpp"
#include "tests/unit/routing/site.hpp"

#include <catch2/catch_test_macros.hpp>

#include <deque>
#include <string>

namespace assay::routing {

namespace {

using namespace std::chrono_literals;
using pool::standing;

/// A ward of one model's endpoints, whose clock moves when told.
struct ward {
  explicit ward(std::size_t count) {
    for (std::size_t n = 0; n < count; ++n)
      all.push_back({.key = {"10.0.0.1:" + std::to_string(7200 + n), n + 1}});
    rule();
  }

  void rule() {
    rulings = table.rule(all, now);
    for (std::size_t n = 0; n < all.size(); ++n)
      all[n].tokens = rulings[n].what.tokens;
  }
  bool end(std::size_t n, ending how, int times = 1, std::chrono::seconds retry_after = 0s) {
    auto is_due = false;
    for (int i = 0; i < times; ++i)
      is_due |= table.learn(all[n].key, how, retry_after, now);
    return is_due;
  }
  const pool::admission& of(std::size_t n) {
    rule();
    return rulings[n].what;
  }
  void warmed(std::size_t n) { end(n, ending::served, limits::warm_after); }
  void pass(std::chrono::milliseconds t) { now += t; }

  steady_time now = steady_time{} + 12h;
  std::vector<patient> all;
  health_table table;
  std::vector<ruling> rulings;
};

/// Requests of which nothing came, each expected to take so long.
void hangs(patient& p, std::uint32_t count, std::chrono::microseconds each, steady_time since) {
  p.signs = {.waiting = count, .streaming = 0, .owed = count * each, .moved = since};
  p.in_flight = count;
}

} // namespace

TEST_CASE("five failures in a row open the breaker, four do not") {
  ward w{2};
  w.warmed(0);
  CHECK_FALSE(w.end(0, ending::failed, 4));
  CHECK(w.of(0).standing == standing::fine);
  CHECK(w.end(0, ending::failed));
  CHECK(w.of(0).standing == standing::failing);
  CHECK(w.of(0).tokens == 0);
  CHECK(w.of(0).until == w.now + limits::breaker_first);
  CHECK(w.of(1).tokens == pool::no_limit);
}

TEST_CASE("answers between failures put the breaker off, unless failures are many") {
  ward w{2};
  for (int i = 0; i < 200; ++i) // One in four.
    w.end(0, i % 4 == 0 ? ending::failed : ending::served);
  CHECK(w.of(0).standing == standing::fine);
  for (int i = 0; i < 200; ++i) // One in two.
    w.end(0, i % 2 == 0 ? ending::failed : ending::served);
  CHECK(w.of(0).standing == standing::failing);
}

TEST_CASE("what an engine rejects, and a client that leaves, are neither failure nor success") {
  ward w{2};
  w.warmed(0);
  w.end(0, ending::failed, 4);
  for (auto how : {ending::rejected, ending::client_gone, ending::refused})
    CHECK_FALSE(w.end(0, how, 50));
  CHECK(w.of(0).standing == standing::fine);
  CHECK(w.end(0, ending::failed)); // The fifth in a row, all the same.
}

TEST_CASE("a half-open breaker lets one request in, and one answer closes it") {
  ward w{2};
  w.end(0, ending::failed, 5);
  w.rule();
  w.pass(4'999ms);
  CHECK(w.of(0).standing == standing::failing);
  w.pass(1ms);
  CHECK(w.of(0).standing == standing::probing);
  CHECK(w.of(0).tokens == 1);
  w.all[0].tokens = 0; // Spent, and the request is there.
  w.all[0].in_flight = 1;
  CHECK(w.of(0).tokens == 0);
  CHECK(w.end(0, ending::served));
  CHECK(w.of(0).standing == standing::warming);
  CHECK(w.of(0).tokens == pool::no_limit);
}

TEST_CASE("a probe that fails opens the breaker again, for twice as long") {
  ward w{2};
  w.end(0, ending::failed, 5);
  for (auto wait : {5s, 10s, 20s, 40s, 60s, 60s}) {
    CHECK(w.of(0).standing == standing::failing);
    CHECK(w.of(0).until == w.now + wait);
    w.pass(wait);
    CHECK(w.of(0).standing == standing::probing);
    CHECK(w.end(0, ending::failed));
  }
}

TEST_CASE("a probe that says nothing of the replica is followed by another") {
  ward w{2};
  w.end(0, ending::failed, 5);
  w.pass(5s);
  w.rule();
  w.all[0].tokens = 0;
  w.all[0].in_flight = 1;
  w.end(0, ending::rejected);
  CHECK(w.of(0).tokens == 0); // It is not over yet, as far as can be seen.
  w.all[0].in_flight = 0;
  CHECK(w.of(0).standing == standing::probing);
  CHECK(w.of(0).tokens == 1);
}

TEST_CASE("an engine that is full is left alone for as long as it asks, and has not failed") {
  ward w{2};
  w.warmed(0);
  CHECK(w.end(0, ending::overloaded, 20, 3s));
  CHECK(w.of(0).standing == standing::full);
  CHECK(w.of(0).tokens == 0);
  w.pass(2'999ms);
  CHECK(w.of(0).standing == standing::full);
  w.pass(1ms);
  CHECK(w.of(0).standing == standing::fine);
}

TEST_CASE("an engine that names no time has a second, and none may ask for more than a minute") {
  ward w{2};
  w.end(0, ending::overloaded);
  CHECK(w.of(0).until == w.now + limits::full_first);
  w.end(0, ending::overloaded, 1, 3'600s);
  CHECK(w.of(0).until == w.now + limits::full_most);
}

TEST_CASE("requests without a word are a wedge after four times what they were expected to take") {
  ward w{2};
  w.warmed(0);
  hangs(w.all[0], 2, 1s, w.now); // Two seconds owed.
  w.pass(8s);
  CHECK(w.of(0).standing == standing::fine);
  w.pass(1ms);
  CHECK(w.of(0).standing == standing::wedged);
  CHECK(w.of(0).tokens == 0);
  w.all[0].signs.moved = w.now; // It says something.
  CHECK(w.of(0).standing == standing::fine);
}

TEST_CASE("a fast replica is given up sooner than a slow one") {
  ward w{4};
  w.warmed(0);
  w.warmed(1);
  hangs(w.all[0], 1, 100ms, w.now);
  hangs(w.all[1], 1, 10s, w.now);
  w.pass(3s);
  w.rule();
  CHECK(w.rulings[0].what.standing == standing::wedged);
  CHECK(w.rulings[1].what.standing == standing::fine);
}

TEST_CASE("a replica that nothing is known of has the longest patience") {
  ward w{2};
  w.warmed(0);
  hangs(w.all[0], 1, limits::silence_most, w.now);
  w.pass(120s);
  CHECK(w.of(0).standing == standing::fine);
  w.pass(1ms);
  CHECK(w.of(0).standing == standing::wedged);
}

TEST_CASE("streams that stand still are a stall, by the pace that they had") {
  ward w{2};
  w.warmed(0);
  w.all[0].signs = {.waiting = 0, .streaming = 3, .owed = 0us, .moved = w.now};
  w.all[0].gap = 500ms;
  w.pass(8s); // Sixteen gaps.
  CHECK(w.of(0).standing == standing::fine);
  w.pass(1ms);
  CHECK(w.of(0).standing == standing::stalled);
  w.all[0].signs.moved = w.now;
  CHECK(w.of(0).standing == standing::fine);
}

TEST_CASE("a long prefill explains why streams stand still") {
  ward w{2};
  w.warmed(0);
  w.all[0].signs = {.waiting = 1, .streaming = 3, .owed = 5s, .moved = w.now};
  w.all[0].gap = 10ms;
  w.pass(20s);
  CHECK(w.of(0).standing == standing::fine);
}

TEST_CASE("a replica with nothing to do is never silent") {
  ward w{2};
  w.warmed(0);
  w.all[0].signs = {.moved = w.now};
  w.pass(10min);
  CHECK(w.of(0).standing == standing::fine);
}

TEST_CASE("when nobody waits for a wedged replica any more, one request finds out") {
  ward w{2};
  hangs(w.all[0], 1, 100ms, w.now);
  w.pass(3s);
  CHECK(w.of(0).standing == standing::wedged);
  w.all[0].signs.waiting = 0;
  w.all[0].in_flight = 0;
  CHECK(w.of(0).standing == standing::probing);
  CHECK(w.of(0).tokens == 1);
}

TEST_CASE("a probe that hangs until nobody waits for it opens the breaker again, for longer") {
  ward w{2};
  w.end(0, ending::failed, 5);
  w.rule();
  w.pass(5s);
  CHECK(w.of(0).standing == standing::probing);
  hangs(w.all[0], 1, 100ms, w.now);
  w.pass(3s);
  CHECK(w.of(0).standing == standing::wedged);
  w.all[0].signs.waiting = 0;
  w.all[0].in_flight = 0;
  CHECK(w.of(0).standing == standing::failing);
  CHECK(w.of(0).until == w.now + 2 * limits::breaker_first);
  CHECK_FALSE(w.end(0, ending::failed)); // Its own end is heard of later, and counts once.
  CHECK(w.of(0).until == w.now + 2 * limits::breaker_first);
}

TEST_CASE("a breaker that is open stays so when the last request that hung there is gone") {
  ward w{2};
  w.warmed(0);
  hangs(w.all[0], 6, 100ms, w.now);
  w.pass(3s);
  CHECK(w.of(0).standing == standing::wedged);
  w.end(0, ending::failed, 5);
  w.all[0].signs.waiting = 0;
  w.all[0].in_flight = 0;
  CHECK(w.of(0).standing == standing::failing);
  CHECK(w.of(0).until == w.now + limits::breaker_first);
}

TEST_CASE("requests from before a breaker opened do not keep it from being tried again") {
  ward w{2};
  w.all[0].in_flight = 3;
  w.end(0, ending::failed, 5);
  CHECK(w.of(0).standing == standing::failing);
  w.pass(5s);
  CHECK(w.of(0).standing == standing::probing);
  CHECK(w.of(0).tokens == 1);
}

TEST_CASE("never more than half of those that stand in for each other are out") {
  for (std::size_t count = 1; count <= 5; ++count) {
    ward w{count};
    for (std::size_t n = 0; n < count; ++n) {
      w.end(n, ending::failed, 5);
      w.rule();
      w.pass(1ms);
    }
    w.rule();
    std::size_t out = 0;
    for (std::size_t n = 0; n < count; ++n) {
      CHECK(w.rulings[n].what.standing == standing::failing);
      CHECK(w.rulings[n].what.is_spared == (w.rulings[n].what.tokens == pool::no_limit));
      CHECK(w.rulings[n].what.is_spared == (n >= count / 2)); // Who was out first stays out.
      out += w.rulings[n].what.tokens == 0;
    }
    CHECK(out == count / 2);
  }
}

TEST_CASE("the replicas of another model save nobody") {
  ward w{2};
  w.all[1].group = 7;
  w.end(0, ending::failed, 5);
  CHECK(w.of(0).is_spared);
}

TEST_CASE("a new replica is warming for its first answers, or a minute") {
  ward w{2};
  CHECK(w.of(0).standing == standing::warming);
  CHECK_FALSE(w.end(0, ending::served, limits::warm_after - 1));
  CHECK(w.of(0).standing == standing::warming);
  CHECK(w.end(0, ending::served));
  CHECK(w.of(0).standing == standing::fine);
  CHECK(w.of(1).standing == standing::warming);
  w.pass(60s);
  CHECK(w.of(1).standing == standing::fine);
}

TEST_CASE("a replica whose agent is silent is stale and goes on serving") {
  ward w{2};
  w.warmed(0);
  w.all[0].is_heard_of = false;
  CHECK(w.of(0).standing == standing::stale);
  CHECK(w.of(0).tokens == pool::no_limit);
}

TEST_CASE("patients are the endpoints that serve from here, with what was learnt of them") {
  test::site s;
  auto& a = s.add("a");
  a.endpoints[0].learned.gap_seconds.learn(0.25, test::noon);
  const auto counters = a.endpoints[0].counters;
  s.endpoint(a).phase = pool::phase::loading;
  s.endpoint(a).host = {"mute"};
  pool::request_at held{counters->signs(), 3s, test::noon};
  auto all = patients_in(s.build(), {{"mute"}});
  REQUIRE(all.size() == 2);
  CHECK(all[0].key == counters->key());
  CHECK(all[0].gap == 250ms);
  CHECK(all[0].signs.owed == 3s);
  CHECK(all[0].is_heard_of);
  CHECK_FALSE(all[1].gap);
  CHECK_FALSE(all[1].is_heard_of);
  CHECK(all[0].group == all[1].group);
}

TEST_CASE("a replica that is gone is forgotten, and one that comes back is new") {
  ward w{3};
  w.end(0, ending::failed, 5);
  CHECK(w.of(0).standing == standing::failing);
  auto gone = w.all[0];
  w.all.erase(w.all.begin());
  w.rule();
  w.all.insert(w.all.begin(), gone);
  w.all[0].tokens = pool::no_limit;
  CHECK(w.of(0).standing == standing::warming);
}

} // namespace assay::routing
