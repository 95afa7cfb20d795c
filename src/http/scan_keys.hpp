#pragma once
// The keys that routing knows, for each operation: what they are called at the body's top level.
// Included by the scan's sources only.

#include "src/contract/operation.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::http::detail {

/// What a key means to us; several spellings may mean one. At most 32, one bit each.
enum class key : std::uint8_t {
  model,
  messages,
  prompt,
  stream,
  stream_options,
  max_tokens,
  max_completion_tokens,
  n_predict,
  choices,
  best_of,
  user,
  prompt_cache_key,
  tools,
  functions,
  response_format,
  logprobs,
  logprobs_count,
  echo,
  suffix,
  dimensions,
  prompt_embeds,
  truncation,
  conversation, ///< Responses' `input`: a text, or a list of items.
  system,
  metadata,
  text_format,
  previous_response,
  kept_conversation,
  store,
  background,
  query, ///< What each document is held against.
};

struct key_row {
  std::string_view name;
  detail::key key;
};

/// The row of a key that is known to the operation, or null.
const key_row* find_key(contract::operation o, std::string_view name);

} // namespace assay::http::detail
