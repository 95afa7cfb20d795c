#pragma once
// The input limit, tested exactly and without a tokenizer: a filler word is repeated, the engine's
// own count of prompt tokens says how long the prompt was, and the next guess follows from it.
//
// Then a prompt of exactly the limit must be answered, unary and streamed, and one filler more must
// be refused. The tries are bounded; a length that cannot be hit is no evidence.

#include "src/qualification/checks.hpp"

namespace assay::qualification {

next_of_check next_of_input_check(const run_state& run, const std::vector<exchange>& so_far);

} // namespace assay::qualification
