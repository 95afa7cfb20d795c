#include "src/http/scan_keys.hpp"

#include <algorithm>
#include <span>

namespace assay::http::detail {

namespace {

constexpr key_row chat_keys[] = {
  {"model", key::model},
  {"messages", key::messages},
  {"stream", key::stream},
  {"stream_options", key::stream_options},
  {"max_tokens", key::max_tokens},
  {"max_completion_tokens", key::max_completion_tokens},
  {"n_predict", key::n_predict}, // llama.cpp's own name; it wins over the others there.
  {"n", key::choices},
  {"user", key::user},
  {"prompt_cache_key", key::prompt_cache_key},
  {"tools", key::tools},
  {"functions", key::functions},
  {"response_format", key::response_format},
  {"logprobs", key::logprobs},
};

constexpr key_row completion_keys[] = {
  {"model", key::model},
  {"prompt", key::prompt},
  {"stream", key::stream},
  {"stream_options", key::stream_options},
  {"max_tokens", key::max_tokens},
  {"max_completion_tokens", key::max_completion_tokens},
  {"n_predict", key::n_predict},
  {"n", key::choices},
  {"best_of", key::best_of},
  {"user", key::user},
  {"prompt_cache_key", key::prompt_cache_key},
  {"response_format", key::response_format},
  {"logprobs", key::logprobs_count},
  {"echo", key::echo},
  {"suffix", key::suffix},
  {"prompt_embeds", key::prompt_embeds}, // vLLM's: a prompt that is no text.
  {"truncate_prompt_tokens", key::truncation},
};

constexpr key_row embedding_keys[] = {
  {"model", key::model},
  {"input", key::prompt},
  {"messages", key::messages}, // vLLM's: a conversation as the one input.
  {"dimensions", key::dimensions},
  {"user", key::user},
  {"truncate_prompt_tokens", key::truncation},
};

constexpr key_row response_keys[] = {
  {"model", key::model},
  {"input", key::conversation},
  {"instructions", key::system},
  {"stream", key::stream},
  {"max_output_tokens", key::max_tokens},
  {"user", key::user},
  {"prompt_cache_key", key::prompt_cache_key},
  {"tools", key::tools},
  {"text", key::text_format},
  {"previous_response_id", key::previous_response},
  {"conversation", key::kept_conversation},
  {"store", key::store},
  {"background", key::background},
};

constexpr key_row message_keys[] = {
  {"model", key::model},
  {"messages", key::messages},
  {"system", key::system},
  {"stream", key::stream},
  {"max_tokens", key::max_tokens},
  {"metadata", key::metadata},
  {"tools", key::tools},
};

constexpr key_row counted_keys[] = {
  {"model", key::model},
  {"messages", key::messages},
  {"system", key::system},
  {"tools", key::tools},
};

constexpr key_row rerank_keys[] = {
  {"model", key::model},
  {"query", key::query},
  {"documents", key::prompt},
  {"user", key::user},
  {"truncate_prompt_tokens", key::truncation},
};

// Both spellings of vLLM.
constexpr key_row score_keys[] = {
  {"model", key::model},
  {"text_1", key::query},
  {"queries", key::query},
  {"text_2", key::prompt},
  {"documents", key::prompt},
  {"user", key::user},
  {"truncate_prompt_tokens", key::truncation},
};

constexpr std::span<const key_row> keys_of(contract::operation o) {
  switch (o) {
  case contract::operation::chat_completions:
    return chat_keys;
  case contract::operation::completions:
    return completion_keys;
  case contract::operation::embeddings:
    return embedding_keys;
  case contract::operation::responses:
    return response_keys;
  case contract::operation::messages:
    return message_keys;
  case contract::operation::count_tokens:
    return counted_keys;
  case contract::operation::rerank:
    return rerank_keys;
  case contract::operation::score:
    return score_keys;
  }
  return {};
}

} // namespace

const key_row* find_key(contract::operation o, std::string_view name) {
  auto keys = keys_of(o);
  auto found = std::ranges::find(keys, name, &key_row::name);
  return found == keys.end() ? nullptr : &*found;
}

} // namespace assay::http::detail
