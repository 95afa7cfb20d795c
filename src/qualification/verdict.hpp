#pragma once
// From marks to a verdict, by the policy: the one-sided exact (Clopper-Pearson) lower bound of the
// share of right answers must reach the policy's share.
//
// Every rounding goes against the implementation. Too little evidence is `inconclusive`, never a
// pass. A runtime that answers the same to everything fails whatever its marks.

#include "src/catalog/declarations.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::qualification {

enum class outcome : std::uint8_t { pass, fail, inconclusive };

/// The counts of a run; an item without an answer is in none of them.
struct tally {
  std::uint32_t answered = 0;
  std::uint32_t right = 0;
  std::uint32_t distinct_answers = 0; ///< After `normalise`.
  std::uint32_t points = 0;           ///< Of right answers.
  std::uint32_t points_possible = 0;  ///< Of answered items.
};

struct verdict {
  qualification::outcome outcome = outcome::inconclusive;
  tally counts;
  std::uint32_t score_ppm = 0;       ///< Points over points possible, rounded down.
  std::uint32_t lower_bound_ppm = 0; ///< Of the share of right answers, at the policy's confidence.
  std::vector<std::string>
    reasons; ///< Sentences with numbers, in the order of importance; never empty.
};

/// The greatest p, in ppm and rounded down, such that `right` or more of `items` has a probability
/// of at most 1 - confidence. 0 when nothing is right. Clopper and Pearson, Biometrika 26 (1934).
std::uint32_t
lower_bound_ppm(std::uint32_t right, std::uint32_t items, std::uint32_t confidence_ppm);

/// The verdict over the task stage; the contract stage passed already.
verdict judge(const tally& counts, const catalog::policy& policy);

/// The fewest right answers of `items` that pass, or `items + 1` when no number does.
std::uint32_t fewest_right(std::uint32_t items, const catalog::policy& policy);

std::string_view name(outcome o);

} // namespace assay::qualification
