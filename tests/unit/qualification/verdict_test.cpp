#include "src/qualification/verdict.hpp"

#include <catch2/catch_test_macros.hpp>

#include <vector>

namespace assay::qualification {

namespace {

catalog::policy tryout() {
  catalog::policy p;
  p.name = {"tryout"};
  p.score_at_least_ppm = 400'000;
  return p;
}

tally of(std::uint32_t right, std::uint32_t answered) {
  return {answered, right, std::min(answered, 10U), right, answered};
}

} // namespace

TEST_CASE("of 20 items 13 right pass at least 0.4 with 95 % confidence, and 12 fail") {
  CHECK(judge(of(13, 20), tryout()).outcome == outcome::pass);
  CHECK(judge(of(12, 20), tryout()).outcome == outcome::fail);
  CHECK(fewest_right(20, tryout()) == 13);
}

TEST_CASE("the lower bound is the textbook's, rounded down") {
  struct row {
    std::uint32_t right, items, confidence_ppm, bound_ppm;
  };
  // Closed forms: all right gives alpha^(1/n), one right gives 1 - (1 - alpha)^(1/n).
  const std::vector<row> rows = {
    {0, 20, 950'000, 0},
    {20, 20, 950'000, 860'891},
    {10, 10, 950'000, 741'134},
    {1, 1, 950'000, 50'000},
    {1, 20, 950'000, 2'561},
    {1, 2, 990'000, 5'012},
  };
  for (const auto& r : rows) {
    CAPTURE(r.right, r.items);
    CHECK(lower_bound_ppm(r.right, r.items, r.confidence_ppm) == r.bound_ppm);
  }
}

TEST_CASE("one more right answer never lowers the bound, one more wrong never raises it") {
  for (std::uint32_t n = 1; n <= 40; ++n)
    for (std::uint32_t k = 0; k < n; ++k) {
      CHECK(lower_bound_ppm(k, n, 950'000) < lower_bound_ppm(k + 1, n, 950'000));
      CHECK(lower_bound_ppm(k, n + 1, 950'000) <= lower_bound_ppm(k, n, 950'000));
    }
}

TEST_CASE("the bound is below the share that was seen") {
  for (std::uint32_t k = 1; k <= 30; ++k)
    CHECK(lower_bound_ppm(k, 30, 950'000) < k * 1'000'000ULL / 30);
}

TEST_CASE("one item fewer than the policy wants is inconclusive, however good") {
  CHECK(judge(of(19, 19), tryout()).outcome == outcome::inconclusive);
  CHECK(judge(of(20, 20), tryout()).outcome == outcome::pass);
}

TEST_CASE("no item at all is inconclusive even when the policy wants none") {
  auto lenient = tryout();
  lenient.items_at_least = 0;
  lenient.score_at_least_ppm = 0;
  CHECK(judge({}, lenient).outcome == outcome::inconclusive);
}

TEST_CASE("a runtime that answers the same to everything fails, with numbers") {
  auto counts = of(20, 20);
  counts.distinct_answers = 1;
  const auto v = judge(counts, tryout());
  CHECK(v.outcome == outcome::fail);
  CHECK(
    v.reasons.front()
    == "20 items got 1 distinct answers and policy tryout wants at least 2: the runtime does not "
       "look at the question"
  );
  counts.distinct_answers = 2;
  CHECK(judge(counts, tryout()).outcome == outcome::pass);
}

TEST_CASE("the reason says how many right answers would have passed") {
  const auto v = judge(of(12, 20), tryout());
  CHECK(
    v.reasons.front()
    == "12 of 20 items are right, so at least 39.35 % at 95.00 % confidence; policy tryout wants "
       "at least 40.00 %, which takes 13 of 20"
  );
}

TEST_CASE("the score that people see weighs points and is rounded down") {
  auto counts = of(13, 20);
  counts.points = 2;
  counts.points_possible = 3;
  CHECK(judge(counts, tryout()).score_ppm == 666'666);
}

} // namespace assay::qualification
