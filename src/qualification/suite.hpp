#pragma once
// A suite as data: contract checks in order, then short scored items. The ledger keeps its text by
// digest (catalog::suite_document); this reads it.
//
// Nothing in a suite is executed: a scorer is one of a closed list, a pattern is RE2. Keys may be
// written with spaces, hyphens or underscores alike. docs/qualification.md describes every key.

#include "src/base/ids.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/contract/contract.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace assay::qualification {

/// What the contract stage may ask; src/qualification/checks.hpp says what each one does.
enum class check_kind : std::uint8_t {
  unary_schema,
  streaming_schema,
  usage,
  output_limit,
  input_limit,
  cancellation,
  unknown_field,
  error_shape,
};

// -- scorers: when is an answer right -----------------------------------------------------------

/// Equal after `normalise`: outer space, case and one final full stop do not count.
struct exact_answer {
  std::string text;
};
/// RE2, found anywhere in the answer as it was given; write `(?i)` and anchors as you need them.
struct pattern_answer {
  std::string pattern;
};
/// The last number in the answer is within `tolerance` of `value`: people and models show how they
/// got there first (`2 + 2 = 4`). Compared as scaled integers.
struct numeric_answer {
  std::int64_t value_millionths = 0;
  std::int64_t tolerance_millionths = 0;
};
/// The first of `among` that stands in the answer as a whole word is `right`.
struct choice_answer {
  std::string right;
  std::vector<std::string> among;
};
/// `word` stands in the answer as whole words, whatever the case.
struct contains_answer {
  std::string word;
};
/// The answer is one JSON object (code fences around it are taken off) with these members.
struct json_answer {
  struct member {
    std::string name;
    std::string type; ///< string, number, integer, boolean, array, object or null
  };
  std::vector<member> required;
};
using scorer = std::variant<
  exact_answer,
  pattern_answer,
  numeric_answer,
  choice_answer,
  contains_answer,
  json_answer>;

// -- items --------------------------------------------------------------------------------------

struct message {
  std::string role;
  std::string content;
};

struct sampling {
  std::int64_t temperature_millionths = 0;
  std::optional<std::int64_t> top_p_millionths;
  std::uint32_t max_tokens = 16;
  std::optional<std::uint32_t> seed;
};

struct item {
  std::string id; ///< Unique in the suite.
  std::vector<message> messages;
  qualification::sampling sampling;
  qualification::scorer scorer;
  std::uint32_t points =
    1; ///< Weight in the score that people see; the bound counts items, not points.
};

struct suite {
  suite_id name;
  contract::task task = contract::task::chat; ///< chat or completion
  std::vector<check_kind> checks;
  std::vector<item> items;
  std::chrono::milliseconds deadline{60'000};    ///< For one answer.
  std::uint32_t retries = 3;                     ///< Of an ask that could not be answered.
  std::chrono::milliseconds frees_within{5'000}; ///< After cancellation the slot answers again.
  std::string filler = " a";                     ///< Repeated to build a prompt of a wanted length.
};

/// Reads one `suite:` document; `file` is the name that problems use. All that is wrong is told at
/// once, each with `file:line:column: key`, what is allowed, and what to do next.
result<suite, std::vector<problem>> parse_suite(std::string_view file, std::string_view text);

std::string_view name(check_kind k);
std::optional<check_kind> parse_check_kind(std::string_view text);
std::string_view kind_of(const scorer& s);

} // namespace assay::qualification
