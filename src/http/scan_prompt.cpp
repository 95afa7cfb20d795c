#include "src/http/chat_scan.hpp"

#include <algorithm>

namespace assay::http::detail {

namespace {

/// What a chat template may add around the caller's words: per message, and once. With it and one
/// token per byte the upper estimate holds for every byte-level tokenizer.
constexpr std::uint64_t template_tokens_per_message = 16;
constexpr std::uint64_t template_tokens = 64;
/// The longest run of bytes that the known vocabularies hold as one token (a run of spaces).
constexpr std::uint64_t longest_token_bytes = 128;

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

bool chat_scan::take_messages(json::value v) {
  auto token = v.raw_json_token();
  auto at = static_cast<std::size_t>(token.data() - body_.data());
  if (!walk_prompt(v, 2, {}))
    return false;
  found_.prompt_at = at;
  found_.prompt_size = measure(token.data());
  return true;
}

/// Bytes from `from` to the end of the value that was just read.
std::size_t chat_scan::measure(const char* from) {
  const char* here = nullptr;
  if (document_.current_location().get(here))
    here = body_.data() + body_.size();
  while (here > from && here[-1] != ']' && here[-1] != '}' && here[-1] != '"')
    --here;
  return static_cast<std::size_t>(here - from);
}

/// Visits everything, so that depth and structure are known to be sound; `depth` is the level that
/// the value would open.
bool chat_scan::walk(json::value v, std::size_t depth) {
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

bool chat_scan::walk_prompt(json::value v, std::size_t depth, std::string_view name) {
  json::json_type type;
  if (auto error = v.type().get(type); error)
    return refuse_json(error);
  if (type == json::json_type::string && (name == "content" || name == "text")) {
    auto text = token_of(v);
    auto size = std::max<std::size_t>(text.size(), 2) - 2;
    // An escape is at most six bytes for one.
    text_bytes_ += text.find('\\') == text.npos ? size : size / 6;
    return true;
  }
  if (type == json::json_type::object)
    return each_field(v, depth, [this, depth](std::string_view key, json::value field) {
      auto image = key == "image_url" || key == "video_url";
      auto audio = key == "input_audio" || key == "audio_url";
      media_ |= image || audio || key == "file";
      if (image || audio)
        feature(image ? "images" : "audio");
      auto name = key == "content" ? "content" : key == "text" ? "text" : "";
      return walk_prompt(field, depth + 1, name);
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

void chat_scan::feature(std::string_view name) {
  auto& features = found_.shape.features;
  if (std::find(features.begin(), features.end(), name) == features.end())
    features.emplace_back(name);
}

void chat_scan::estimate() {
  auto most =
    found_.prompt_size + extra_bytes_ + messages_ * template_tokens_per_message + template_tokens;
  auto& input = found_.shape.input;
  input.most =
    static_cast<std::uint32_t>(media_ ? unlimited : std::min<std::uint64_t>(most, unlimited));
  input.least =
    static_cast<std::uint32_t>(std::min<std::uint64_t>(text_bytes_ / longest_token_bytes, unlimited)
    );
  found_.shape.body_bytes = body_.size();
}

} // namespace assay::http::detail
