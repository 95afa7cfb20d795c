#include "src/base/limits.hpp"
#include "src/pool/continued_view.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

namespace assay::pool {

namespace {

constexpr steady_time start{std::chrono::hours{1}};

replica_view replica(std::uint64_t generation, bool takes_traffic = true) {
  return {.generation = generation, .takes_traffic = takes_traffic, .address = "10.0.0.1:7200"};
}

std::shared_ptr<const pool_view> view(std::uint64_t epoch, std::vector<replica_view> replicas) {
  pool_view made{.pool = {"gpu"}, .epoch = epoch};
  made.replicas = std::move(replicas);
  return std::make_shared<const pool_view>(std::move(made));
}

std::vector<std::uint64_t> generations(const continued_view& of) {
  std::vector<std::uint64_t> all;
  for (const auto& one : of.shown()->replicas)
    all.push_back(one.generation);
  return all;
}

using list = std::vector<std::uint64_t>;

} // namespace

TEST_CASE("within one epoch a coordinator's word is all there is") {
  continued_view pool;
  CHECK_FALSE(pool.shown());
  CHECK(pool.learn(view(5, {replica(1), replica(2)}), start));
  CHECK(pool.learn(view(5, {replica(2)}), start));
  CHECK(generations(pool) == list{2});
}

TEST_CASE("what took traffic stays shown while the next epoch's coordinator does not list it yet") {
  continued_view pool;
  pool.learn(view(5, {replica(1), replica(2), replica(3, false)}), start);
  CHECK(pool.learn(view(6, {}), start));
  CHECK(generations(pool) == list{1, 2});
  CHECK(pool.shown()->epoch == 6);
  SECTION("and is the new coordinator's once it lists it") {
    pool.learn(view(6, {replica(2, false)}), start);
    CHECK(generations(pool) == list{1, 2});
    CHECK_FALSE(pool.shown()->replicas[1].takes_traffic);
    pool.learn(view(6, {}), start);
    CHECK(generations(pool) == list{1});
  }
  SECTION("and not for ever") {
    CHECK_FALSE(pool.pass(start + limits::unwatched - std::chrono::milliseconds{1}));
    CHECK(generations(pool) == list{1, 2});
    CHECK(pool.pass(start + limits::unwatched));
    CHECK(generations(pool).empty());
    CHECK_FALSE(pool.pass(start + limits::unwatched));
  }
  SECTION("over a second change of leaders too") {
    pool.learn(view(7, {replica(9)}), start);
    CHECK(generations(pool) == list{1, 2, 9});
  }
}

TEST_CASE("a late word of an earlier epoch changes nothing") {
  continued_view pool;
  pool.learn(view(6, {replica(1)}), start);
  CHECK_FALSE(pool.learn(view(5, {replica(1), replica(2)}), start));
  CHECK(generations(pool) == list{1});
  CHECK(pool.shown()->epoch == 6);
}

} // namespace assay::pool
