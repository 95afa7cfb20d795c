#include "src/qualification/verdict.hpp"

#include "src/base/check.hpp"

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <fmt/format.h>

#include <cmath>

namespace assay::qualification {

namespace {

constexpr std::uint32_t million = 1'000'000;

/// P(X >= right) for X binomial(items, ppm / 10^6), right >= 1.
double tail(std::uint32_t right, std::uint32_t items, std::uint32_t ppm) {
  return boost::math::ibeta(
    static_cast<double>(right),
    static_cast<double>(items - right + 1),
    static_cast<double>(ppm) / million
  );
}

std::uint32_t rounded_down_ppm(std::uint32_t part, std::uint32_t all) {
  if (all == 0)
    return 0;
  return static_cast<std::uint32_t>(std::uint64_t{part} * million / all);
}

std::string percent(std::uint32_t ppm) {
  return fmt::format("{}.{:02} %", ppm / 10'000, ppm % 10'000 / 100);
}

std::string too_few(const tally& counts, const catalog::policy& policy) {
  return fmt::format(
    "{} items were answered and policy {} wants at least {}",
    counts.answered,
    policy.name.value,
    policy.items_at_least
  );
}

std::string too_alike(const tally& counts, const catalog::policy& policy) {
  return fmt::format(
    "{} items got {} distinct answers and policy {} wants at least {}: the runtime does not look "
    "at the question",
    counts.answered,
    counts.distinct_answers,
    policy.name.value,
    policy.distinct_answers_at_least
  );
}

std::string bound_sentence(const verdict& v, const catalog::policy& policy) {
  return fmt::format(
    "{} of {} items are right, so at least {} at {} confidence; policy {} wants at least {}, which "
    "takes {} of {}",
    v.counts.right,
    v.counts.answered,
    percent(v.lower_bound_ppm),
    percent(policy.confidence_ppm),
    policy.name.value,
    percent(policy.score_at_least_ppm),
    fewest_right(v.counts.answered, policy),
    v.counts.answered
  );
}

} // namespace

std::uint32_t
lower_bound_ppm(std::uint32_t right, std::uint32_t items, std::uint32_t confidence_ppm) {
  check(right <= items, "more right answers than items");
  check(confidence_ppm > 0 && confidence_ppm < million, "confidence is between 0 and 1");
  if (right == 0)
    return 0;
  const double alpha = static_cast<double>(million - confidence_ppm) / million;
  const double exact = boost::math::ibeta_inv(
    static_cast<double>(right), static_cast<double>(items - right + 1), alpha
  );
  auto ppm = static_cast<std::uint32_t>(std::floor(exact * million));
  // The inverse may err in its last digits; the bound itself is checked, and only ever lowered.
  while (ppm > 0 && tail(right, items, ppm) > alpha)
    --ppm;
  return ppm;
}

verdict judge(const tally& counts, const catalog::policy& policy) {
  verdict v;
  v.counts = counts;
  v.score_ppm = rounded_down_ppm(counts.points, counts.points_possible);
  v.lower_bound_ppm = lower_bound_ppm(counts.right, counts.answered, policy.confidence_ppm);
  if (counts.answered == 0 || counts.answered < policy.items_at_least) {
    v.reasons.push_back(too_few(counts, policy));
    return v;
  }
  const bool alike = counts.distinct_answers < policy.distinct_answers_at_least;
  const bool reached = v.lower_bound_ppm >= policy.score_at_least_ppm;
  if (alike)
    v.reasons.push_back(too_alike(counts, policy));
  v.reasons.push_back(bound_sentence(v, policy));
  v.outcome = reached && !alike ? outcome::pass : outcome::fail;
  return v;
}

std::uint32_t fewest_right(std::uint32_t items, const catalog::policy& policy) {
  for (std::uint32_t right = 0; right <= items; ++right)
    if (lower_bound_ppm(right, items, policy.confidence_ppm) >= policy.score_at_least_ppm)
      return right;
  return items + 1;
}

std::string_view name(outcome o) {
  constexpr std::string_view names[] = {"pass", "fail", "inconclusive"};
  return names[static_cast<std::size_t>(o)];
}

} // namespace assay::qualification
