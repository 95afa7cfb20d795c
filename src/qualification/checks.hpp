#pragma once
// What each contract check asks, and when it holds. A check is a pure function of what was answered
// so far: either the next ask, or the result.
//
// | check            | holds when |
// |------------------|------------|
// | unary-schema     | 200, one choice, text, a finish reason, the object's name |
// | streaming-schema | every event parses, one finish reason, no error event, `[DONE]` last |
// | usage            | both forms report prompt and completion tokens that add up |
// | output-limit     | `max_tokens` is kept; one past the declared limit is refused or kept |
// | input-limit      | exactly at the limit answers, one past is refused, both forms |
// | cancellation     | after more streams were left than there are slots, an ask is answered in
// time | | unknown-field    | a member that nobody knows does not break a request | | error-shape
// | a wrong request gets a 4xx with `error.message` |

#include "src/qualification/run.hpp"

#include <variant>

namespace assay::qualification {

/// `number`, `path` and `deadline` are filled in by the run.
using next_of_check = std::variant<ask, check_result>;

next_of_check next_of(check_kind kind, const run_state& run, const std::vector<exchange>& so_far);

/// The prompt length that the input check goes for: `input_tokens`, else one under the context.
std::uint32_t input_edge(const contract::request_limits& limits);

/// Asks that may be spent on building a prompt of exactly the wanted length.
inline constexpr std::size_t calibration_tries = 12;

/// Streams that are left before the cancellation check asks whether a slot is free: one more than
/// there are slots, within reason.
std::uint32_t streams_to_leave(std::uint32_t slots);

/// Lets the envelope grow to what an answer showed, never past the declared limits.
void grow(envelope& e, const subject& who, const exchange& shown, const reading& read);

} // namespace assay::qualification
