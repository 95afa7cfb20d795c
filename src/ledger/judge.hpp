#pragma once
// Whether recorded runs carry a pass. The verdict is EVALUATOR's; the ledger only refuses one that
// its own records contradict.

#include "src/base/result.hpp"
#include "src/ledger/tables.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace assay::ledger {

struct pass_claim {
  std::vector<std::string> runs;
  std::vector<predicate> predicates;
  std::uint64_t later_than_seq = 0; ///< Runs up to this seq do not count.
};

/// The one stack that all runs share, or why the claim does not hold for the qualification: an
/// unknown, incomplete or foreign run, runs on different stacks (I13), a predicate that failed or
/// has no data (I12), too few items, too low a bound, a revoked stack (I16).
result<digest, std::string>
carried_by(const tables& t, const qualification_row& q, const pass_claim& claim);

} // namespace assay::ledger
