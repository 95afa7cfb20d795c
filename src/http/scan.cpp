#include "src/http/scan.hpp"

#include "src/base/limits.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <limits>

namespace assay::http {

namespace {

namespace json = simdjson::ondemand;

/// What a chat template may add around the caller's words: per message, and once. With it and one
/// token per byte the upper estimate holds for every byte-level tokenizer.
constexpr std::uint64_t template_tokens_per_message = 16;
constexpr std::uint64_t template_tokens = 64;
/// The longest run of bytes that the known vocabularies hold as one token (a run of spaces).
constexpr std::uint64_t longest_token_bytes = 128;
constexpr std::size_t model_bytes = 256;
constexpr std::uint64_t unlimited = std::numeric_limits<std::uint32_t>::max();

enum class key : std::uint8_t {
  model,
  messages,
  stream,
  stream_options,
  max_tokens,
  max_completion_tokens,
  choices,
  user,
  prompt_cache_key,
  tools,
  functions,
  response_format,
  logprobs,
};

constexpr std::array<std::string_view, 13> key_names{
  "model",
  "messages",
  "stream",
  "stream_options",
  "max_tokens",
  "max_completion_tokens",
  "n",
  "user",
  "prompt_cache_key",
  "tools",
  "functions",
  "response_format",
  "logprobs",
};

std::optional<key> find_key(std::string_view name) {
  auto found = std::find(key_names.begin(), key_names.end(), name);
  if (found == key_names.end())
    return {};
  return static_cast<key>(found - key_names.begin());
}

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

std::uint64_t affinity_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u; // FNV-1a
  for (auto c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash == 0 ? 1 : hash;
}

/// One pass over one body. Each step returns false once a refusal is written.
class chat_scan {
public:
  chat_scan(std::string_view body, json::document& document) : body_{body}, document_{document} {}

  result<scanned_body, scan_refusal> run();

private:
  bool refuse(std::string message, std::string_view param = {});
  bool refuse_json(simdjson::error_code why);
  bool take(std::string_view name, json::value v);
  bool take_known(key k, std::string_view name, json::value v);
  bool take_model(json::value v);
  bool take_bool(std::string_view name, json::value v, bool& into);
  bool take_count(std::string_view name, json::value v, std::uint32_t least);
  bool take_affinity(std::string_view name, json::value v);
  bool take_messages(json::value v);
  bool take_stream_options(json::value v);
  bool take_response_format(json::value v);
  bool take_tools(json::value v);

  template <class Field>
  bool each_field(json::value v, std::size_t depth, Field field);
  bool walk(json::value v, std::size_t depth);
  bool walk_prompt(json::value v, std::size_t depth, std::string_view name);
  bool is_null(json::value v);
  std::size_t measure(const char* from);
  void feature(std::string_view name);
  void estimate();

  std::string_view body_;
  json::document& document_;
  scanned_body found_;
  scan_refusal refusal_;
  std::uint32_t seen_ = 0;
  std::uint32_t count_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t text_bytes_ = 0;  ///< Surely no more than the decoded text has.
  std::uint64_t extra_bytes_ = 0; ///< Tools and schemas, which templates print too.
  bool media_ = false;
};

bool chat_scan::refuse(std::string message, std::string_view param) {
  refusal_ = {contract::failure::invalid_request, std::move(message), std::string{param}};
  return false;
}

bool chat_scan::refuse_json(simdjson::error_code why) {
  if (why == simdjson::UTF8_ERROR)
    return refuse("the body is not valid UTF-8");
  if (why == simdjson::INCORRECT_TYPE)
    return refuse("the body is not a JSON object");
  if (why == simdjson::DEPTH_ERROR)
    return refuse("the body is nested deeper than 256 levels");
  return refuse(std::string{"the body is not valid JSON: "} + simdjson::error_message(why));
}

result<scanned_body, scan_refusal> chat_scan::run() {
  json::object object;
  if (auto error = document_.get_object().get(object); error) {
    refuse_json(error);
    return unexpected{refusal_};
  }
  for (auto entry : object) {
    json::field field;
    std::string_view name;
    auto error = std::move(entry).get(field);
    if (!error)
      error = field.unescaped_key().get(name);
    if (error) {
      refuse_json(error);
      return unexpected{refusal_};
    }
    if (!take(name, field.value()))
      return unexpected{refusal_};
  }
  const char* behind = nullptr;
  if (!document_.current_location().get(behind)) // An error here says that nothing is left.
    refuse("bytes follow the JSON object");
  else if ((seen_ & 1u << static_cast<unsigned>(key::model)) == 0)
    refuse("the body has no model; name one, for example \"model\": \"NAME\"", "model");
  if (!refusal_.message.empty())
    return unexpected{refusal_};
  estimate();
  return std::move(found_);
}

bool chat_scan::take(std::string_view name, json::value v) {
  auto known = find_key(name);
  if (!known)
    return walk(v, 2);
  auto bit = 1u << static_cast<unsigned>(*known);
  auto stable = key_names[static_cast<std::size_t>(*known)];
  if (seen_ & bit)
    return refuse("the key '" + std::string{stable} + "' occurs twice at the top level", stable);
  seen_ |= bit;
  return take_known(*known, stable, v);
}

bool chat_scan::take_known(key k, std::string_view name, json::value v) {
  auto& shape = found_.shape;
  switch (k) {
  case key::model:
    return take_model(v);
  case key::messages:
    return take_messages(v);
  case key::stream:
    return take_bool(name, v, shape.stream);
  case key::stream_options:
    return take_stream_options(v);
  case key::max_tokens:
  case key::max_completion_tokens:
    if (!take_count(name, v, 0))
      return false;
    // Both may be there; the larger one is what the engine might do.
    if (count_ > 0 || !shape.output_tokens)
      shape.output_tokens = std::max(shape.output_tokens.value_or(0), count_);
    if (shape.output_tokens == 0u)
      shape.output_tokens.reset();
    return true;
  case key::choices:
    if (!take_count(name, v, 1))
      return false;
    shape.choices = std::max(1u, count_);
    return true;
  case key::user:
  case key::prompt_cache_key:
    return take_affinity(name, v);
  case key::tools:
  case key::functions:
    return take_tools(v);
  case key::response_format:
    return take_response_format(v);
  case key::logprobs: {
    bool wanted = false;
    if (!take_bool(name, v, wanted))
      return false;
    if (wanted)
      feature("logprobs");
    return true;
  }
  }
  return true;
}

bool chat_scan::take_model(json::value v) {
  std::string_view text;
  auto token = token_of(v);
  if (auto error = v.get_string().get(text); error)
    return error == simdjson::INCORRECT_TYPE ? refuse("model is not a string", "model")
                                             : refuse_json(error);
  if (text.empty() || text.size() > model_bytes)
    return refuse("model is empty or longer than 256 bytes", "model");
  found_.model = text;
  found_.model_at = static_cast<std::size_t>(token.data() - body_.data());
  found_.model_size = token.size();
  return true;
}

bool chat_scan::is_null(json::value v) {
  json::json_type type;
  return v.type().get(type) == simdjson::SUCCESS && type == json::json_type::null;
}

bool chat_scan::take_bool(std::string_view name, json::value v, bool& into) {
  if (is_null(v))
    return true;
  if (v.get_bool().get(into))
    return refuse(std::string{name} + " is neither true nor false", name);
  return true;
}

/// Leaves 0 in `count_` for null.
bool chat_scan::take_count(std::string_view name, json::value v, std::uint32_t least) {
  count_ = 0;
  if (is_null(v))
    return true;
  std::uint64_t number = 0;
  if (v.get_uint64().get(number) || number < least || number > unlimited)
    return refuse(
      std::string{name} + " is not a whole number from " + std::to_string(least) + " to 4294967295",
      name
    );
  count_ = static_cast<std::uint32_t>(number);
  return true;
}

bool chat_scan::take_affinity(std::string_view name, json::value v) {
  std::string_view text;
  if (is_null(v))
    return true;
  if (v.get_string().get(text))
    return refuse(std::string{name} + " is not a string", name);
  // A conversation's cache key says more about where its prefix lies than the user does.
  if (!text.empty() && (found_.shape.affinity == 0 || name == "prompt_cache_key"))
    found_.shape.affinity = affinity_of(text);
  return true;
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

bool chat_scan::take_stream_options(json::value v) {
  if (is_null(v))
    return true;
  return each_field(v, 2, [this](std::string_view name, json::value field) {
    return name == "include_usage" ? take_bool("stream_options", field, found_.include_usage)
                                   : walk(field, 3);
  });
}

bool chat_scan::take_response_format(json::value v) {
  if (is_null(v))
    return true;
  auto from = v.raw_json_token().data();
  bool taken = each_field(v, 2, [this](std::string_view name, json::value field) {
    std::string_view text;
    if (name != "type")
      return walk(field, 3);
    if (field.get_string().get(text) == simdjson::SUCCESS && text != "text")
      feature(text.substr(0, limits::name_bytes));
    return true;
  });
  extra_bytes_ += measure(from);
  return taken;
}

bool chat_scan::take_tools(json::value v) {
  json::json_type type;
  auto from = v.raw_json_token().data();
  if (v.type().get(type) || type != json::json_type::array)
    return walk(v, 2);
  json::array list;
  std::size_t count = 0;
  if (auto error = v.get_array().get(list); error)
    return refuse_json(error);
  for (auto entry : list) {
    json::value element;
    if (auto error = std::move(entry).get(element); error)
      return refuse_json(error);
    if (!walk(element, 3))
      return false;
    ++count;
  }
  extra_bytes_ += measure(from);
  if (count > 0)
    feature("tools");
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

template <class Field>
bool chat_scan::each_field(json::value v, std::size_t depth, Field take_field) {
  json::object object;
  if (depth > limits::json_depth)
    return refuse_json(simdjson::DEPTH_ERROR);
  if (auto error = v.get_object().get(object); error)
    return error == simdjson::INCORRECT_TYPE ? walk(v, depth) : refuse_json(error);
  for (auto entry : object) {
    json::field field;
    std::string_view name;
    auto error = std::move(entry).get(field);
    if (!error)
      error = field.unescaped_key().get(name);
    if (error)
      return refuse_json(error);
    if (!take_field(name, field.value()))
      return false;
  }
  return true;
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

} // namespace

struct body_scanner::parser {
  json::parser json;
};

body_scanner::body_scanner() : parser_{std::make_unique<parser>()} {}
body_scanner::~body_scanner() = default;
body_scanner::body_scanner(body_scanner&&) noexcept = default;
body_scanner& body_scanner::operator=(body_scanner&&) noexcept = default;

result<scanned_body, scan_refusal>
body_scanner::scan_chat(std::string_view body, std::size_t capacity) {
  constexpr std::string_view bom = "\xEF\xBB\xBF";
  // The parser keeps four bytes per byte of its largest body: a rare large one is not kept.
  constexpr std::size_t kept_bytes = 4 << 20;
  check(capacity >= body.size() + padding, "a body is scanned without its padding");
  auto skipped = body.substr(0, bom.size()) == bom ? bom.size() : 0;
  auto text = body.substr(skipped);
  if (text.empty())
    return unexpected{scan_refusal{
      contract::failure::invalid_request, "the body is empty; send a JSON object", {}}};
  json::document document;
  auto error = parser_->json.iterate(text.data(), text.size(), capacity - skipped).get(document);
  if (error) {
    auto message = error == simdjson::UTF8_ERROR
                     ? std::string{"the body is not valid UTF-8"}
                     : std::string{"the body is not valid JSON: "} + simdjson::error_message(error);
    return unexpected{scan_refusal{contract::failure::invalid_request, message, {}}};
  }
  auto found = chat_scan{body, document}.run();
  if (body.size() > kept_bytes)
    parser_ = std::make_unique<parser>();
  return found;
}

spliced_body
splice_model(std::string_view body, const scanned_body& scan, std::string_view served) {
  if (served == scan.model || served.empty())
    return {body, {}, {}};
  std::string name = "\"";
  for (auto c : served) {
    if (c == '"' || c == '\\')
      name += '\\';
    name += c;
  }
  name += '"';
  return {
    body.substr(0, scan.model_at), std::move(name), body.substr(scan.model_at + scan.model_size)};
}

} // namespace assay::http
