#pragma once
// What a request is to a router: sizes and wishes, never its words.

#include "src/contract/contract.hpp"

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
  contract::task task = contract::task::chat;
  token_estimate input;
  std::optional<std::uint32_t>
    output_tokens;           ///< `max_tokens` or `max_completion_tokens`, when asked for.
  std::uint32_t choices = 1; ///< `n`
  bool stream = false;
  std::vector<std::string> features; ///< Features the request uses, by the contract's names.
  std::uint64_t body_bytes = 0;
  std::uint64_t affinity =
    0; ///< Hash of the user or conversation that the caller named; 0 for none.
};

} // namespace assay::contract
