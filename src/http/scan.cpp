#include "src/http/scan.hpp"

#include "src/http/body_scan.hpp"

#include <algorithm>

namespace assay::http {

namespace detail {

namespace {

constexpr std::size_t model_bytes = 256;

std::uint64_t affinity_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u; // FNV-1a
  for (auto c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash == 0 ? 1 : hash;
}

} // namespace

body_scan::body_scan(contract::operation asked, std::string_view body, json::document& document)
  : body_{body}, document_{document} {
  found_.shape.operation = asked;
  found_.shape.task = contract::describe(asked).task;
  has_blocks_ = contract::describe(asked).family != contract::api_family::openai;
}

bool body_scan::refuse(std::string message, std::string_view param) {
  refusal_ = {contract::failure::invalid_request, std::move(message), std::string{param}};
  return false;
}

bool body_scan::refuse_json(simdjson::error_code why) {
  if (why == simdjson::UTF8_ERROR)
    return refuse("the body is not valid UTF-8");
  if (why == simdjson::INCORRECT_TYPE)
    return refuse("the body is not a JSON object");
  if (why == simdjson::DEPTH_ERROR)
    return refuse("the body is nested deeper than 256 levels");
  return refuse(std::string{"the body is not valid JSON: "} + simdjson::error_message(why));
}

result<scanned_body, scan_refusal> body_scan::run() {
  json::object object;
  if (auto error = document_.get_object().get(object); error) {
    refuse_json(error);
    return unexpected{refusal_};
  }
  auto take_field = [this](std::string_view name, json::value v) { return take(name, v); };
  if (!fields_of(object, take_field))
    return unexpected{refusal_};
  const char* behind = nullptr;
  if (!document_.current_location().get(behind)) // An error here says that nothing is left.
    refuse("bytes follow the JSON object");
  else if ((seen_ & 1u << static_cast<unsigned>(key::model)) == 0)
    refuse("the body has no model; name one, for example \"model\": \"NAME\"", "model");
  else if (found_.shape.operation == contract::operation::messages && !found_.shape.output_tokens)
    refuse("max_tokens is missing; say how long the answer may be, at least 1", "max_tokens");
  if (!refusal_.message.empty())
    return unexpected{refusal_};
  estimate();
  return std::move(found_);
}

bool body_scan::take(std::string_view name, json::value v) {
  const auto* known = find_key(found_.shape.operation, name);
  if (!known)
    return walk(v, 2);
  auto bit = 1u << static_cast<unsigned>(known->key);
  if (seen_ & bit)
    return refuse(
      "the key '" + std::string{known->name} + "' occurs twice at the top level", known->name
    );
  seen_ |= bit;
  return take_known(known->key, known->name, v);
}

bool body_scan::take_known(key k, std::string_view name, json::value v) {
  auto& shape = found_.shape;
  switch (k) {
  case key::model:
    return take_model(v);
  case key::messages:
  case key::conversation:
    return take_messages(v);
  case key::system:
    return take_system(v);
  case key::metadata:
    return take_metadata(v);
  case key::text_format:
    return take_text_format(v);
  case key::previous_response:
  case key::kept_conversation:
    return refuse_state(name, v, is_null(v));
  case key::store:
  case key::background: {
    bool wanted = false;
    return take_bool(name, v, wanted) && refuse_state(name, v, !wanted);
  }
  case key::prompt:
    return take_prompts(v, name);
  case key::query:
    return take_query(v, name);
  case key::stream:
    return take_bool(name, v, shape.stream);
  case key::stream_options:
    return take_stream_options(v);
  case key::max_tokens:
  case key::max_completion_tokens:
  case key::n_predict:
    return take_output_limit(name, v);
  case key::choices:
  case key::best_of:
    if (!take_count(name, v, 1))
      return false;
    shape.choices = std::max(shape.choices, count_);
    return true;
  case key::user:
  case key::prompt_cache_key:
    return take_affinity(name, v);
  case key::tools:
  case key::functions:
    return take_tools(v);
  case key::response_format:
    return take_response_format(v);
  case key::logprobs:
  case key::echo:
    return take_wish(name, v);
  case key::logprobs_count:
    return take_counted_wish(name, v, 0);
  case key::dimensions:
    return take_counted_wish(name, v, 1);
  case key::suffix:
    return take_suffix(v);
  case key::prompt_embeds:
    media_ |= !is_null(v);
    return walk(v, 2);
  case key::truncation:
    truncates_ |= !is_null(v);
    return walk(v, 2);
  }
  return true;
}

bool body_scan::take_output_limit(std::string_view name, json::value v) {
  auto& wanted = found_.shape.output_tokens;
  if (!take_count(name, v, 0))
    return false;
  // More than one may be there; the larger one is what the engine might do.
  if (count_ > 0)
    wanted = std::max(wanted.value_or(0), count_);
  return true;
}

/// True asks for the feature of that name.
bool body_scan::take_wish(std::string_view name, json::value v) {
  bool wanted = false;
  if (!take_bool(name, v, wanted))
    return false;
  if (wanted)
    feature(name);
  return true;
}

/// A number asks for it.
bool body_scan::take_counted_wish(std::string_view name, json::value v, std::uint32_t least) {
  if (is_null(v))
    return true;
  if (!take_count(name, v, least))
    return false;
  feature(name);
  return true;
}

bool body_scan::take_model(json::value v) {
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

bool body_scan::is_null(json::value v) {
  json::json_type type;
  return v.type().get(type) == simdjson::SUCCESS && type == json::json_type::null;
}

bool body_scan::take_bool(std::string_view name, json::value v, bool& into) {
  if (is_null(v))
    return true;
  if (v.get_bool().get(into))
    return refuse(std::string{name} + " is neither true nor false", name);
  return true;
}

/// Leaves 0 in `count_` for null.
bool body_scan::take_count(std::string_view name, json::value v, std::uint32_t least) {
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

bool body_scan::take_affinity(std::string_view name, json::value v) {
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

/// The text behind the gap is part of what the engine reads.
bool body_scan::take_suffix(json::value v) {
  std::string_view text;
  if (is_null(v))
    return true;
  auto bytes = token_of(v).size();
  if (v.get_string().get(text))
    return refuse("suffix is not a string", "suffix");
  if (text.empty())
    return true;
  extra_bytes_ += bytes;
  feature("suffix");
  return true;
}

bool body_scan::take_stream_options(json::value v) {
  if (is_null(v))
    return true;
  return each_field(v, 2, [this](std::string_view name, json::value field) {
    return name == "include_usage" ? take_bool("stream_options", field, found_.include_usage)
                                   : walk(field, 3);
  });
}

bool body_scan::take_response_format(json::value v) {
  return take_format(v, 2);
}

bool body_scan::take_format(json::value v, std::size_t depth) {
  if (is_null(v))
    return true;
  auto from = v.raw_json_token().data();
  bool taken = each_field(v, depth, [this, depth](std::string_view name, json::value field) {
    std::string_view text;
    if (name != "type")
      return walk(field, depth + 1);
    if (field.get_string().get(text) == simdjson::SUCCESS && text != "text")
      feature(text.substr(0, limits::name_bytes));
    return true;
  });
  extra_bytes_ += measure(from);
  return taken;
}

/// Responses' `text`, whose `format` is what `response_format` is elsewhere.
bool body_scan::take_text_format(json::value v) {
  if (is_null(v))
    return true;
  return each_field(v, 2, [this](std::string_view name, json::value field) {
    return name == "format" ? take_format(field, 3) : walk(field, 3);
  });
}

/// Anthropic's `metadata`, whose `user_id` is what `user` is elsewhere.
bool body_scan::take_metadata(json::value v) {
  if (is_null(v))
    return true;
  return each_field(v, 2, [this](std::string_view name, json::value field) {
    return name == "user_id" ? take_affinity("user_id", field) : walk(field, 3);
  });
}

/// What only a server that keeps answers can serve: replicas do not share what each of them keeps.
bool body_scan::refuse_state(std::string_view name, json::value v, bool is_harmless) {
  if (is_harmless)
    return walk(v, 2);
  auto text = std::string{name}
              + ": answers are not kept here; send the whole conversation in input, with store: "
                "false or without store";
  refusal_ = {contract::failure::unsupported_feature, std::move(text), std::string{name}};
  return false;
}

bool body_scan::take_tools(json::value v) {
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
    if (!open(entry, element, type) || !walk(element, 3))
      return false;
    ++count;
  }
  extra_bytes_ += measure(from);
  if (count > 0)
    feature("tools");
  return true;
}

} // namespace detail

struct body_scanner::parser {
  simdjson::ondemand::parser json;
};

body_scanner::body_scanner() : parser_{std::make_unique<parser>()} {}
body_scanner::~body_scanner() = default;
body_scanner::body_scanner(body_scanner&&) noexcept = default;
body_scanner& body_scanner::operator=(body_scanner&&) noexcept = default;

result<scanned_body, scan_refusal>
body_scanner::scan(contract::operation asked, std::string_view body, std::size_t capacity) {
  constexpr std::string_view bom = "\xEF\xBB\xBF";
  // The parser keeps four bytes per byte of its largest body: a rare large one is not kept.
  constexpr std::size_t kept_bytes = 4 << 20;
  check(capacity >= body.size() + padding, "a body is scanned without its padding");
  auto skipped = body.substr(0, bom.size()) == bom ? bom.size() : 0;
  auto text = body.substr(skipped);
  if (text.empty())
    return unexpected{scan_refusal{
      contract::failure::invalid_request, "the body is empty; send a JSON object", {}}};
  detail::json::document document;
  auto error = parser_->json.iterate(text.data(), text.size(), capacity - skipped).get(document);
  if (error) {
    auto message = error == simdjson::UTF8_ERROR
                     ? std::string{"the body is not valid UTF-8"}
                     : std::string{"the body is not valid JSON: "} + simdjson::error_message(error);
    return unexpected{scan_refusal{contract::failure::invalid_request, message, {}}};
  }
  auto found = detail::body_scan{asked, body, document}.run();
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
