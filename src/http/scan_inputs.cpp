// Prompts of completions and inputs of embeddings: a text, a list of texts, a list of token ids, or
// a list of such lists.

#include "src/http/body_scan.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace assay::http::detail {

namespace {

std::string no_prompt(std::string_view name) {
  return std::string{name}
         + " is neither a string, a list of strings, a list of token ids nor a "
           "list of such lists";
}

} // namespace

bool body_scan::take_prompts(json::value v, std::string_view name) {
  json::json_type type;
  if (auto error = v.type().get(type); error)
    return refuse_json(error);
  auto from = v.raw_json_token().data();
  found_.prompt_at = static_cast<std::size_t>(from - body_.data());
  switch (type) {
  case json::json_type::null:
    return true; // The engine has a word for that.
  case json::json_type::string:
    found_.prompt_size = token_of(v).size();
    add_text(token_of(v));
    return true;
  case json::json_type::object: // llama.cpp's way to add pictures to a prompt.
    media_ = true;
    if (!walk(v, 2))
      return false;
    break;
  case json::json_type::array:
    if (!take_prompt_list(v, name))
      return false;
    break;
  default:
    return refuse(no_prompt(name), name);
  }
  found_.prompt_size = measure(from);
  return true;
}

/// A text, or as many as there are documents; of those the largest.
bool body_scan::take_query(json::value v, std::string_view name) {
  auto prompts = std::exchange(prompts_, 0);
  auto all = std::pair{std::exchange(all_least_, 0), std::exchange(all_most_, 0)};
  auto largest = std::pair{std::exchange(largest_least_, 0), std::exchange(largest_most_, 0)};
  auto place = std::pair{found_.prompt_at, found_.prompt_size};
  if (!take_prompts(v, name))
    return false;
  query_least_ = std::exchange(largest_least_, largest.first);
  query_most_ = std::exchange(largest_most_, largest.second);
  std::tie(all_least_, all_most_) = all;
  std::tie(found_.prompt_at, found_.prompt_size) = place;
  prompts_ = prompts;
  return true;
}

bool body_scan::take_prompt_list(json::value v, std::string_view name) {
  json::array list;
  if (auto error = v.get_array().get(list); error)
    return refuse_json(error);
  std::uint64_t tokens = 0;
  std::uint64_t elements = 0;
  for (auto entry : list) {
    json::value element;
    json::json_type type;
    if (!open(entry, element, type))
      return false;
    ++elements;
    if (type == json::json_type::string) {
      add_text(token_of(element));
    } else if (type == json::json_type::number) {
      if (!take_token(element, name, tokens))
        return false;
    } else if (type == json::json_type::array) {
      if (!take_token_list(element, name))
        return false;
    } else if (type == json::json_type::object) {
      media_ = true;
      add_prompt(0, 0);
      if (!walk(element, 3))
        return false;
    } else {
      return refuse(no_prompt(name), name);
    }
  }
  if (elements == 0)
    return refuse(std::string{name} + " is an empty list; send at least one prompt", name);
  if (tokens == 0)
    return true;
  if (prompts_ == 0) {
    add_prompt(tokens, tokens);
    return true;
  }
  // Texts and token ids side by side are one prompt to llama.cpp; others refuse them.
  auto least = all_least_ + tokens;
  auto most = all_most_ + tokens;
  prompts_ = all_least_ = all_most_ = largest_least_ = largest_most_ = 0;
  add_prompt(least, most);
  return true;
}

bool body_scan::take_token(json::value v, std::string_view name, std::uint64_t& tokens) {
  std::uint64_t id = 0;
  if (v.get_uint64().get(id) || id > unlimited)
    return refuse(std::string{name} + " holds a number that is no token id", name);
  ++tokens;
  return true;
}

/// One prompt as token ids; texts among them are llama.cpp's, and others refuse them.
bool body_scan::take_token_list(json::value v, std::string_view name) {
  json::array list;
  if (auto error = v.get_array().get(list); error)
    return refuse_json(error);
  std::uint64_t tokens = 0;
  std::uint64_t text_least = 0;
  std::uint64_t text_most = 0;
  for (auto entry : list) {
    json::value element;
    json::json_type type;
    if (!open(entry, element, type))
      return false;
    if (type == json::json_type::string) {
      auto text = token_of(element);
      text_least += decoded_bytes(text) / longest_token_bytes;
      text_most += text.size();
    } else if (type != json::json_type::number) {
      return refuse(no_prompt(name), name);
    } else if (!take_token(element, name, tokens)) {
      return false;
    }
  }
  if (tokens + text_most == 0)
    return refuse(std::string{name} + " holds an empty list of token ids", name);
  add_prompt(tokens + text_least, tokens + text_most);
  return true;
}

void body_scan::add_text(std::string_view token) {
  add_prompt(decoded_bytes(token) / longest_token_bytes, token.size());
}

void body_scan::add_prompt(std::uint64_t least, std::uint64_t most) {
  ++prompts_;
  all_least_ += least;
  all_most_ += most;
  largest_least_ = std::max(largest_least_, least);
  largest_most_ = std::max(largest_most_, most);
}

} // namespace assay::http::detail
