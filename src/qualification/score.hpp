#pragma once
// Is an answer right? Pure and without judgement: the same text always gets the same mark.

#include "src/qualification/suite.hpp"

#include <string>
#include <string_view>

namespace assay::qualification {

struct mark {
  bool right = false;
  std::string why; ///< What was looked for and what was seen, in a few words; empty when right.
};

mark score(const scorer& how, std::string_view answer);

/// Outer space, ASCII case, runs of space and one final full stop taken away: two answers that
/// normalise alike are the same answer.
std::string normalise(std::string_view answer);

} // namespace assay::qualification
