#include "src/pool/counters.hpp"

#include <catch2/catch_test_macros.hpp>

#include <thread>
#include <vector>

namespace assay::pool {

namespace {

using namespace std::chrono_literals;
using contract::degraded_rule;
using contract::traffic_class;

const auto dawn = steady_time{} + 1h;
const auto key = endpoint_key{"127.0.0.1:7200", 7};

std::shared_ptr<endpoint_counters> with_credits(std::uint32_t credits) {
  auto counters = std::make_shared<endpoint_counters>(key);
  counters->accept({.credits = credits, .until = dawn + 10s});
  return counters;
}

reserve_terms terms(traffic_class c = traffic_class::interactive) {
  return {.traffic = c, .now = dawn};
}

/// How many can be taken at once.
std::size_t
capacity(const std::shared_ptr<endpoint_counters>& counters, const reserve_terms& terms) {
  std::vector<reservation> taken;
  while (auto r = reservation::take(counters, terms))
    taken.push_back(std::move(r));
  return taken.size();
}

} // namespace

TEST_CASE("the last granted credit is taken and the next is refused") {
  auto counters = with_credits(2);
  auto first = reservation::take(counters, terms());
  auto last = reservation::take(counters, terms());
  CHECK(last);
  CHECK_FALSE(reservation::take(counters, terms()));
  CHECK(counters->in_flight() == 2);
}

TEST_CASE("an endpoint that is left out lets nobody in but evaluation") {
  auto counters = with_credits(4);
  counters->rule({.standing = standing::failing, .tokens = 0, .until = dawn + 5s}, no_limit);
  CHECK(counters->is_left_out(terms().traffic));
  CHECK(counters->look(terms()).room == 0);
  CHECK(counters->standing() == standing::failing);
  CHECK(counters->ruled().until == dawn + 5s);
  CHECK(capacity(counters, terms()) == 0);
  auto queued = terms();
  queued.admitted = true;
  CHECK(capacity(counters, queued) == 0);
  CHECK(counters->in_flight() == 0);
  CHECK(capacity(counters, terms(traffic_class::evaluation)) == 4);
}

TEST_CASE("a token lets one request in, and is not there again when that ends") {
  auto counters = with_credits(4);
  counters->rule({.standing = standing::probing, .tokens = 1}, no_limit);
  CHECK(counters->look(terms()).room == 1);
  CHECK(capacity(counters, terms()) == 1);
  CHECK(counters->is_left_out(terms().traffic));
  counters->rule({.standing = standing::probing, .tokens = 1}, 0);
  CHECK(capacity(counters, terms()) == 1);
  counters->rule({}, 0);
  CHECK(capacity(counters, terms()) == 4);
}

TEST_CASE("a ruling gives no token back that was spent since it was made") {
  auto counters = with_credits(4);
  counters->rule({.standing = standing::probing, .tokens = 1}, no_limit);
  auto probe = reservation::take(counters, terms());
  counters->rule({.standing = standing::probing, .tokens = 1}, 1); // It saw one left.
  CHECK_FALSE(reservation::take(counters, terms()));
}

TEST_CASE("without a credit no token is spent") {
  auto counters = with_credits(0);
  counters->rule({.standing = standing::probing, .tokens = 1}, no_limit);
  CHECK_FALSE(reservation::take(counters, terms()));
  CHECK(counters->ruled().tokens == 1);
}

TEST_CASE("a reservation gives its credit back exactly once, however it ends") {
  auto counters = with_credits(4);
  SECTION("by its end of life") {
    { auto r = reservation::take(counters, terms()); }
    CHECK(counters->finished() == 1);
  }
  SECTION("by release, and not again by its end of life") {
    {
      auto r = reservation::take(counters, terms());
      r.release();
      r.release();
    }
    CHECK(counters->finished() == 1);
  }
  SECTION("once after a chain of moves") {
    {
      auto a = reservation::take(counters, terms());
      auto b = std::move(a);
      a = std::move(b);
      auto c = std::move(a);
    }
    CHECK(counters->finished() == 1);
  }
  SECTION("at once when another is moved over it") {
    auto a = reservation::take(counters, terms());
    auto b = reservation::take(counters, terms());
    a = std::move(b);
    CHECK(counters->in_flight() == 1);
  }
  SECTION("also after the registry forgot the endpoint") {
    endpoint_registry registry;
    auto own = registry.obtain(key);
    own->accept({.credits = 1, .until = dawn + 10s});
    {
      auto r = reservation::take(own, terms());
      CHECK(registry.retain({}) == 0); // In flight: kept, without credits.
      CHECK(own->granted().credits == 0);
    }
    CHECK(own->in_flight() == 0);
    CHECK(registry.retain({}) == 1);
  }
  CHECK(counters->in_flight() == 0);
}

TEST_CASE("a lower grant lets those in flight finish and nobody else in") {
  auto counters = with_credits(3);
  auto a = reservation::take(counters, terms());
  auto b = reservation::take(counters, terms());
  counters->accept({.credits = 1, .until = dawn + 10s});
  CHECK(counters->in_flight() == 2);
  CHECK_FALSE(reservation::take(counters, terms()));
  a.release();
  CHECK_FALSE(reservation::take(counters, terms()));
  b.release();
  CHECK(reservation::take(counters, terms()));
}

TEST_CASE("after its end a lease is kept, halved or void by the contract's rule") {
  struct row {
    degraded_rule rule;
    std::uint32_t credits;
    std::uint32_t left;
  };
  for (auto [rule, credits, left] : std::vector<row>{
         {degraded_rule::keep, 5, 5},
         {degraded_rule::shrink, 4, 2},
         {degraded_rule::shrink, 5, 3},
         {degraded_rule::shrink, 1, 1},
         {degraded_rule::stop, 5, 0}}) {
    auto counters = std::make_shared<endpoint_counters>(key);
    counters->accept({.credits = credits, .until = dawn, .degraded = rule});
    CHECK(capacity(counters, {.now = dawn - 1ns}) == credits);
    CHECK(capacity(counters, {.now = dawn}) == left);
    CHECK(credits_in_force(counters->granted(), dawn) == left);
  }
}

TEST_CASE("a lease is stale from its end on, and one that never was is not") {
  auto counters = std::make_shared<endpoint_counters>(key);
  CHECK(counters->stale_for(dawn) == 0ns);
  counters->accept({.credits = 1, .until = dawn});
  CHECK(counters->stale_for(dawn - 1ns) == 0ns);
  CHECK(counters->stale_for(dawn) == 0ns);
  CHECK(counters->stale_for(dawn + 3s) == 3s);
  counters->accept({.credits = 1, .until = dawn + 10s});
  CHECK(counters->stale_for(dawn + 3s) == 0ns);
}

TEST_CASE("batch leaves the interactive headroom free") {
  CHECK(capacity(with_credits(1), terms(traffic_class::batch)) == 1);
  CHECK(capacity(with_credits(2), terms(traffic_class::batch)) == 1);
  CHECK(capacity(with_credits(16), terms(traffic_class::batch)) == 14);
  CHECK(capacity(with_credits(16), terms(traffic_class::shadow)) == 14);
  CHECK(capacity(with_credits(16), terms(traffic_class::evaluation)) == 16);
}

TEST_CASE("nobody overtakes the queue, but a request that the queue sent passes") {
  auto counters = with_credits(4);
  auto grant = counters->granted();
  auto may = [&](traffic_class c, bool admitted = false) {
    return counters->room({.traffic = c, .now = dawn, .admitted = admitted}) > 0;
  };
  grant.waiting = contention::batch_waits;
  counters->accept(grant);
  CHECK(may(traffic_class::interactive));
  CHECK_FALSE(may(traffic_class::batch));
  CHECK_FALSE(may(traffic_class::shadow));
  grant.waiting = contention::interactive_waits;
  counters->accept(grant);
  CHECK_FALSE(may(traffic_class::interactive));
  CHECK(may(traffic_class::interactive, true));
  CHECK(may(traffic_class::batch, true));
}

TEST_CASE("an endpoint of another generation has counters of its own") {
  endpoint_registry registry;
  auto old = registry.obtain(key);
  CHECK(registry.obtain(key) == old);
  CHECK(registry.obtain({key.address, key.generation + 1}) != old);
  CHECK(registry.find({key.address, key.generation + 2}) == nullptr);
}

TEST_CASE("threads that reserve and release while grants change lose and invent no credit") {
  endpoint_registry registry;
  auto counters = registry.obtain(key);
  std::atomic<std::uint64_t> taken{0};
  std::atomic<bool> exceeded{false};
  constexpr std::uint32_t most = 8;
  auto serve = [&] {
    for (auto n = 0; n < 20'000; ++n) {
      auto r = reservation::take(registry.obtain(key), terms());
      if (!r)
        continue;
      taken.fetch_add(1, std::memory_order_relaxed);
      if (counters->in_flight() > most)
        exceeded = true;
    }
  };
  auto grant = [&] {
    for (std::uint32_t n = 0; n < 5'000; ++n) {
      counters->accept({.credits = n % (most + 1), .until = dawn + 10s});
      registry.usages();
    }
  };
  std::vector<std::thread> threads;
  for (auto n = 0; n < 3; ++n)
    threads.emplace_back(serve);
  threads.emplace_back(grant);
  for (auto& t : threads)
    t.join();
  CHECK_FALSE(exceeded);
  CHECK(counters->in_flight() == 0);
  CHECK(counters->finished() == taken);
}

} // namespace assay::pool
