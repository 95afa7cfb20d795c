#include "src/http/body_scan.hpp"

#include <algorithm>

namespace assay::http::detail {

namespace {

/// What a chat template may add around the caller's words: per message, and once. With it and one
/// token per byte the upper estimate holds for every byte-level tokenizer.
constexpr std::uint64_t template_tokens_per_message = 16;
constexpr std::uint64_t template_tokens = 64;

std::uint32_t tokens(std::uint64_t count) {
  return static_cast<std::uint32_t>(std::min(count, unlimited));
}

} // namespace

/// A string's or number's own bytes: the parser's token runs on over white space.
std::string_view token_of(json::value& v) {
  auto token = v.raw_json_token();
  while (
    !token.empty()
    && (token.back() == ' ' || token.back() == '\t' || token.back() == '\n' || token.back() == '\r')
  )
    token.remove_suffix(1);
  return token;
}

std::size_t decoded_bytes(std::string_view token) {
  auto size = std::max<std::size_t>(token.size(), 2) - 2;
  // An escape is at most six bytes for one.
  return token.find('\\') == token.npos ? size : size / 6;
}

bool body_scan::take_messages(json::value v) {
  json::json_type type;
  auto from = v.raw_json_token().data();
  if (auto error = v.type().get(type); error)
    return refuse_json(error);
  found_.prompt_at = static_cast<std::size_t>(from - body_.data());
  if (type == json::json_type::string) { // Responses takes a bare text.
    auto text = token_of(v);
    text_bytes_ += decoded_bytes(text);
    found_.prompt_size = text.size();
    return true;
  }
  if (!walk_prompt(v, 2, {}))
    return false;
  found_.prompt_size = measure(from);
  return true;
}

/// What stands before the conversation: a text, or a list of blocks.
bool body_scan::take_system(json::value v) {
  json::json_type type;
  auto from = v.raw_json_token().data();
  if (auto error = v.type().get(type); error)
    return refuse_json(error);
  if (type == json::json_type::string)
    extra_bytes_ += token_of(v).size();
  if (!walk_prompt(v, 3, "content"))
    return false;
  if (type == json::json_type::array)
    extra_bytes_ += measure(from);
  return true;
}

/// Bytes from `from` to the end of the value that was just read.
std::size_t body_scan::measure(const char* from) {
  const char* here = nullptr;
  if (document_.current_location().get(here))
    here = body_.data() + body_.size();
  while (here > from && here[-1] != ']' && here[-1] != '}' && here[-1] != '"')
    --here;
  return static_cast<std::size_t>(here - from);
}

/// Visits everything, so that depth and structure are known to be sound; `depth` is the level that
/// the value would open.
bool body_scan::walk(json::value v, std::size_t depth) {
  json::json_type type;
  if (auto error = v.type().get(type); error)
    return refuse_json(error);
  if (type == json::json_type::object)
    return each_field(v, depth, [this, depth](std::string_view, json::value field) {
      return walk(field, depth + 1);
    });
  if (type != json::json_type::array)
    return true;
  if (depth > limits::json_depth)
    return refuse_json(simdjson::DEPTH_ERROR);
  json::array list;
  if (auto error = v.get_array().get(list); error)
    return refuse_json(error);
  for (auto entry : list) {
    json::value element;
    if (auto error = std::move(entry).get(element); error)
      return refuse_json(error);
    if (!walk(element, depth + 1))
      return false;
  }
  return true;
}

bool body_scan::walk_prompt(json::value v, std::size_t depth, std::string_view name) {
  json::json_type type;
  if (auto error = v.type().get(type); error)
    return refuse_json(error);
  if (type == json::json_type::string && (name == "content" || name == "text")) {
    text_bytes_ += decoded_bytes(token_of(v));
    return true;
  }
  if (type == json::json_type::object)
    return each_field(v, depth, [this, depth, name](std::string_view key, json::value field) {
      if (has_blocks_ && key == "type" && name == "content")
        return take_block_type(field);
      if (has_blocks_ && key == "input") // A tool's arguments may look like anything.
        return walk(field, depth + 1);
      auto image = key == "image_url" || key == "video_url";
      auto audio = key == "input_audio" || key == "audio_url";
      media_ |= image || audio || key == "file";
      if (image || audio)
        feature(image ? "images" : "audio");
      auto inner = key == "content" ? "content" : key == "text" ? "text" : "";
      return walk_prompt(field, depth + 1, inner);
    });
  if (type != json::json_type::array)
    return true;
  if (depth > limits::json_depth)
    return refuse_json(simdjson::DEPTH_ERROR);
  json::array list;
  if (auto error = v.get_array().get(list); error)
    return refuse_json(error);
  for (auto entry : list) {
    json::value element;
    if (auto error = std::move(entry).get(element); error)
      return refuse_json(error);
    messages_ += depth == 2 ? 1 : 0;
    if (!walk_prompt(element, depth + 1, name))
      return false;
  }
  return true;
}

/// Of a block of content: Anthropic's and Responses' say so what they are.
bool body_scan::take_block_type(json::value v) {
  std::string_view type;
  if (v.get_string().get(type))
    return walk(v, 2);
  auto image = type == "image" || type == "input_image";
  media_ |= image || type == "document" || type == "input_file";
  if (image)
    feature("images");
  return true;
}

void body_scan::feature(std::string_view name) {
  auto& features = found_.shape.features;
  if (std::find(features.begin(), features.end(), name) == features.end())
    features.emplace_back(name);
}

void body_scan::estimate() {
  auto& shape = found_.shape;
  shape.body_bytes = body_.size();
  if (prompts_ > 0) {
    estimate_prompts();
  } else {
    auto most =
      found_.prompt_size + extra_bytes_ + messages_ * template_tokens_per_message + template_tokens;
    shape.input = {tokens(text_bytes_ / longest_token_bytes), tokens(most)};
  }
  if (media_)
    shape.input.most = tokens(unlimited);
  if (truncates_)
    shape.input.least = 0;
  // So that all of them together are a number that fits.
  auto& more = shape.more_input;
  more.most = std::min(more.most, tokens(unlimited) - shape.input.most);
  more.least = std::min(more.least, more.most);
}

void body_scan::estimate_prompts() {
  auto& shape = found_.shape;
  auto more = prompts_ - 1;
  auto largest_most = largest_most_ + query_most_ + extra_bytes_ + template_tokens;
  shape.prompts = tokens(prompts_);
  shape.input = {tokens(largest_least_ + query_least_), tokens(largest_most)};
  shape.more_input = {
    tokens(all_least_ - largest_least_ + more * query_least_),
    tokens(all_most_ - largest_most_ + more * query_most_)};
}

} // namespace assay::http::detail
