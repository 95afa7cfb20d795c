#include "src/pool/credits.hpp"

#include <catch2/catch_test_macros.hpp>

#include <numeric>
#include <random>

namespace assay::pool {

namespace {

using numbers = std::vector<std::uint32_t>;

} // namespace

TEST_CASE("idle ingresses share an endpoint's slots evenly") {
  CHECK(split_credits(8, {0, 0}, 0) == numbers{4, 4});
  CHECK(split_credits(7, {0, 0}, 0) == numbers{4, 3});
  CHECK(split_credits(7, {0, 0}, 1) == numbers{3, 4});
}

TEST_CASE("an ingress keeps what it uses and only the rest is shared") {
  CHECK(split_credits(8, {6, 0}, 0) == numbers{7, 1});
  CHECK(split_credits(8, {8, 0}, 0) == numbers{8, 0});
}

TEST_CASE("more use than slots is cut evenly") {
  CHECK(split_credits(4, {9, 9}, 0) == numbers{2, 2});
  CHECK(split_credits(1, {1, 1, 1}, 2) == numbers{0, 0, 1});
}

TEST_CASE("nobody gets nothing") {
  CHECK(split_credits(4, {}, 0).empty());
  CHECK(split_credits(0, {3}, 0) == numbers{0});
}

TEST_CASE("a split gives out each slot once, whatever is in use") {
  auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 chance{seed};
  for (auto n = 0; n < 2'000; ++n) {
    numbers in_use(1 + chance() % 6);
    for (auto& u : in_use)
      u = static_cast<std::uint32_t>(chance() % 10);
    auto slots = static_cast<std::uint32_t>(chance() % 32);
    auto given = split_credits(slots, in_use, chance() % in_use.size());
    REQUIRE(std::accumulate(given.begin(), given.end(), 0U) == slots);
  }
}

} // namespace assay::pool
