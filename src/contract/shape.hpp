#pragma once
// What a request is to a router: sizes and wishes, never its words.

#include "src/contract/operation.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay::contract {

/// Tokens without a tokenizer: the true count is surely within [least, most].
struct token_estimate {
  std::uint32_t least = 0;
  std::uint32_t most = 0;
};

struct shape {
  contract::operation operation = contract::operation::chat_completions;
  contract::task task = contract::task::chat; ///< The operation's.
  token_estimate input;      ///< Of the largest prompt: what a limit of tokens is about.
  token_estimate more_input; ///< Of the other prompts together.
  std::uint32_t prompts = 1; ///< Prompts, inputs or documents of one request.
  std::optional<std::uint32_t>
    output_tokens;           ///< `max_tokens` or `max_completion_tokens`, when asked for.
  std::uint32_t choices = 1; ///< For each prompt: `n`, or `best_of` where that is more.
  bool stream = false;
  std::vector<std::string> features; ///< Features the request uses, by the contract's names.
  std::uint64_t body_bytes = 0;
  std::uint64_t affinity =
    0; ///< Hash of the user or conversation that the caller named; 0 for none.

  /// Of all prompts together: what the engine has to read.
  token_estimate all_input() const {
    return {input.least + more_input.least, input.most + more_input.most};
  }
};

} // namespace assay::contract
