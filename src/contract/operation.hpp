#pragma once
// What a caller can ask of a model: each operation of the APIs that we speak, with its path.
//
// The table is the whole truth about paths; the task decides which contracts an operation fits, the
// family how its errors are worded and how its streams end.

#include "src/contract/contract.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::contract {

enum class operation : std::uint8_t {
  chat_completions,
  completions,
  embeddings,
  responses,
  messages,
  count_tokens,
  rerank,
  score,
};
inline constexpr std::size_t operation_count = 8;

/// Whose error bodies and stream endings an operation has. `responses` has OpenAI's errors, and
/// events of its own.
enum class api_family : std::uint8_t { openai, responses, anthropic };

struct operation_row {
  std::string_view name; ///< As profiles and traces write it.
  std::string_view path;
  contract::task task;
  contract::api_family family;
};

const operation_row& describe(operation o);

/// The operation behind exactly this path, without a query.
std::optional<operation> find_operation(std::string_view path);
std::optional<operation> parse_operation(std::string_view name);

/// The operation that requests of a task use when nothing else is said; none for `infer`.
std::optional<operation> usual_operation(task t);

} // namespace assay::contract
