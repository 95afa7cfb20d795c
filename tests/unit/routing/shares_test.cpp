#include "src/routing/shares.hpp"

#include <catch2/catch_test_macros.hpp>

#include <random>
#include <vector>

namespace assay::routing {

namespace {

portion part(std::uint32_t floor, std::uint32_t ceiling, double value = 0, bool hard = false) {
  return {floor, ceiling, hard, {0, value, 0}, 0};
}

std::vector<std::uint32_t> divided(std::vector<portion> portions, bool by_rank = true) {
  divide(portions, by_rank);
  std::vector<std::uint32_t> bps;
  for (const auto& p : portions)
    bps.push_back(p.bps);
  return bps;
}

using numbers = std::vector<std::uint32_t>;

} // namespace

TEST_CASE("a fixed split is kept whatever the ranks say") {
  CHECK(divided({part(9'500, 9'500, 9), part(500, 500, 1)}) == numbers{9'500, 500});
}

TEST_CASE("the best takes the rest up to its ceiling, then the next") {
  CHECK(divided({part(0, 10'000, 2), part(0, 10'000, 1)}) == numbers{0, 10'000});
  CHECK(divided({part(1'000, 10'000, 2), part(0, 6'000, 1)}) == numbers{4'000, 6'000});
}

TEST_CASE("without ranks the rest goes out in proportion to room") {
  CHECK(divided({part(0, 10'000), part(0, 5'000)}, false) == numbers{6'667, 3'333});
}

TEST_CASE("a missing share is spread over the others in proportion") {
  // A third implementation with 1,000 is out.
  CHECK(divided({part(7'000, 7'000), part(2'000, 2'000)}) == numbers{7'778, 2'222});
}

TEST_CASE("a hard ceiling is not passed even when the others are out") {
  CHECK(divided({part(500, 500, 0, true)}) == numbers{500});
  std::vector<portion> alone{part(500, 500, 0, true)};
  CHECK(divide(alone, true) == 9'500);
  CHECK(portion_at(alone, 499) == 0);
  CHECK(portion_at(alone, 500) == 1);
  CHECK(divided({part(500, 500, 0, true), part(2'000, 2'000)}) == numbers{500, 9'500});
}

TEST_CASE("a share is never under its floor nor over its ceiling while all are there") {
  auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 chance{seed};
  for (auto n = 0; n < 2'000; ++n) {
    std::vector<portion> portions;
    std::uint32_t floors = 0;
    for (auto k = 1 + chance() % 6; k > 0; --k) {
      auto floor = static_cast<std::uint32_t>(chance() % (10'000 - floors + 1) / 2);
      floors += floor;
      auto ceiling = floor + static_cast<std::uint32_t>(chance() % (10'001 - floor));
      portions.push_back(
        part(floor, ceiling + (ceiling == 0), static_cast<double>(chance() % 3), chance() % 2)
      );
    }
    auto stored = portions;
    std::uint64_t ceilings = 0;
    for (const auto& p : stored)
      ceilings += p.ceiling;
    auto rest = divide(portions, chance() % 2);
    auto sum = rest;
    for (std::size_t i = 0; i < portions.size(); ++i) {
      sum += portions[i].bps;
      REQUIRE(portions[i].bps >= stored[i].floor);
      if (ceilings >= 10'000 || stored[i].hard)
        REQUIRE(portions[i].bps <= stored[i].ceiling);
    }
    REQUIRE(sum == 10'000);
  }
}

} // namespace assay::routing
