// What the JSON of an answer says: usage, content, ends and errors, in the words of each family.

#include "src/http/sse.hpp"

#include <simdjson.h>

namespace assay::http {

namespace {

namespace json = simdjson::ondemand;

bool is_text(json::value v) {
  std::string_view text;
  return v.get_string().get(text) == simdjson::SUCCESS && !text.empty();
}

/// A string, list or object that is there and not empty: `null`, "" and [] are not content.
bool is_something(json::value v) {
  json::json_type type;
  if (v.type().get(type) != simdjson::SUCCESS)
    return false;
  if (type == json::json_type::string)
    return is_text(v);
  if (type == json::json_type::object)
    return true;
  json::array list;
  bool is_empty = true;
  return type == json::json_type::array && v.get_array().get(list) == simdjson::SUCCESS
         && list.is_empty().get(is_empty) == simdjson::SUCCESS && !is_empty;
}

bool is_null(json::value v) {
  json::json_type type;
  return v.type().get(type) != simdjson::SUCCESS || type == json::json_type::null;
}

template <class Take>
void for_each_field(json::value v, Take take) {
  json::object object;
  if (v.get_object().get(object) != simdjson::SUCCESS)
    return;
  for (auto entry : object) {
    json::field field;
    std::string_view key;
    if (std::move(entry).get(field) != simdjson::SUCCESS)
      return;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS)
      return;
    take(key, field.value());
  }
}

/// What one usage object says. OpenAI's prompt tokens include the cached ones, Anthropic's do not.
struct usage_reading {
  std::optional<std::uint64_t> prompt;
  std::optional<std::uint64_t> completion;
  std::optional<std::uint64_t> cached;
  std::uint64_t beside_prompt = 0; ///< Read from a cache or written to one.
};

void read_count(json::value v, std::optional<std::uint64_t>& into) {
  std::uint64_t count = 0;
  if (v.get_uint64().get(count) == simdjson::SUCCESS)
    into = count;
}

void read_details(json::value v, usage_reading& into) {
  if (is_null(v))
    return;
  for_each_field(v, [&](std::string_view key, json::value count) {
    if (key == "cached_tokens")
      read_count(count, into.cached);
  });
}

void read_usage_field(std::string_view key, json::value v, usage_reading& into) {
  std::uint64_t count = 0;
  if (key == "prompt_tokens" || key == "input_tokens") {
    read_count(v, into.prompt);
  } else if (key == "completion_tokens" || key == "output_tokens") {
    read_count(v, into.completion);
  } else if (key == "prompt_tokens_details" || key == "input_tokens_details") {
    read_details(v, into);
  } else if (key == "cache_read_input_tokens") {
    read_count(v, into.cached);
    into.beside_prompt += into.cached.value_or(0);
  } else if (key == "cache_creation_input_tokens" && v.get_uint64().get(count) == simdjson::SUCCESS) {
    into.beside_prompt += count;
  }
}

std::optional<usage_reading> read_usage(json::value v) {
  json::json_type type;
  if (v.type().get(type) != simdjson::SUCCESS || type != json::json_type::object)
    return {};
  usage_reading usage;
  for_each_field(v, [&](std::string_view key, json::value field) {
    read_usage_field(key, field, usage);
  });
  return usage;
}

/// The last object wins as a whole.
void take_usage(json::value v, std::optional<token_usage>& into) {
  auto read = read_usage(v);
  if (!read)
    return;
  token_usage usage{
    read->prompt.value_or(0) + read->beside_prompt,
    read->completion.value_or(0),
    read->cached.value_or(0)};
  if (usage != token_usage{})
    into = usage;
}

/// A message's start counts what was read, later events what was written: each adds to the others.
void add_usage(json::value v, std::optional<token_usage>& into) {
  auto read = read_usage(v);
  if (!read)
    return;
  auto usage = into.value_or(token_usage{});
  if (read->prompt)
    usage.prompt = *read->prompt + read->beside_prompt;
  usage.completion = read->completion.value_or(usage.completion);
  usage.cached = read->cached.value_or(usage.cached);
  if (usage != token_usage{})
    into = usage;
}

void read_delta(json::value v, bool& content) {
  for_each_field(v, [&](std::string_view key, json::value field) {
    if (key == "content" || key == "reasoning_content" || key == "reasoning" || key == "refusal" || key == "tool_calls" || key == "function_call")
      content |= is_something(field);
  });
}

void read_choice(json::value v, stream_facts& facts, bool& content) {
  for_each_field(v, [&](std::string_view key, json::value field) {
    if (key == "delta" || key == "message")
      read_delta(field, content);
    else if (key == "text")
      content |= is_something(field);
    else if (key == "finish_reason")
      facts.finish |= is_something(field);
  });
}

void read_answer_field(
  std::string_view key, json::value value, stream_facts& facts, bool& content
) {
  std::string_view text;
  if (key == "usage") {
    take_usage(value, facts.usage);
  } else if (key == "error") {
    facts.error |= !is_null(value);
  } else if (key == "object") {
    facts.error |= value.get_string().get(text) == simdjson::SUCCESS && text == "error";
  } else if (key == "choices") {
    json::array choices;
    if (value.get_array().get(choices) != simdjson::SUCCESS)
      return;
    for (auto entry : choices) {
      json::value choice;
      if (std::move(entry).get(choice) != simdjson::SUCCESS)
        return;
      read_choice(choice, facts, content);
    }
  }
}

/// Text, thinking or a tool's arguments; of Responses a bare string.
bool is_content_delta(json::value v) {
  json::json_type type;
  if (v.type().get(type) != simdjson::SUCCESS)
    return false;
  if (type == json::json_type::string)
    return is_text(v);
  bool content = false;
  for_each_field(v, [&](std::string_view key, json::value field) {
    if (key == "text" || key == "thinking" || key == "partial_json")
      content |= is_text(field);
  });
  return content;
}

/// A tool's call is content before its first argument.
bool is_tool_call(json::value v) {
  bool found = false;
  for_each_field(v, [&](std::string_view key, json::value field) {
    std::string_view text;
    if (key == "type" && field.get_string().get(text) == simdjson::SUCCESS)
      found |= text == "tool_use";
  });
  return found;
}

void read_event_type(json::value v, stream_facts& facts) {
  std::string_view type;
  if (v.get_string().get(type) != simdjson::SUCCESS)
    return;
  facts.done |= type == "message_stop" || type == "response.completed"
                || type == "response.incomplete" || type == "response.failed";
  facts.error |= type == "error" || type == "response.failed";
}

/// The message or response that an event is about.
void read_subject(json::value v, stream_facts& facts) {
  for_each_field(v, [&](std::string_view key, json::value field) {
    std::string_view text;
    if (key == "usage")
      add_usage(field, facts.usage);
    else if (key == "error")
      facts.error |= !is_null(field);
    else if (key == "id" && field.get_string().get(text) == simdjson::SUCCESS && text.size() <= stream_facts::subject_bytes)
      facts.subject = text;
  });
}

/// Of the families whose events have types.
void read_typed_field(std::string_view key, json::value v, stream_facts& facts, bool& content) {
  if (key == "type")
    read_event_type(v, facts);
  else if (key == "delta")
    content |= is_content_delta(v);
  else if (key == "content_block")
    content |= is_tool_call(v);
  else if (key == "message" || key == "response")
    read_subject(v, facts);
  else if (key == "usage")
    add_usage(v, facts.usage);
  else if (key == "error")
    facts.error |= !is_null(v);
  else if (key == "sequence_number")
    read_count(v, facts.sequence);
}

} // namespace

struct answer_reader::parser {
  json::parser json;
};

answer_reader::answer_reader() : parser_{std::make_unique<parser>()} {}
answer_reader::~answer_reader() = default;
answer_reader::answer_reader(answer_reader&&) noexcept = default;
answer_reader& answer_reader::operator=(answer_reader&&) noexcept = default;

void answer_reader::look_into(std::string& text, stream_facts& facts, contract::api_family family) {
  json::document document;
  json::object object;
  static_assert(padding >= simdjson::SIMDJSON_PADDING);
  text.reserve(text.size() + padding);
  if (parser_->json.iterate(text.data(), text.size(), text.capacity()).get(document))
    return;
  if (document.get_object().get(object))
    return;
  bool content = false;
  for (auto entry : object) {
    json::field field;
    std::string_view key;
    // Half an object is no reason to forget what its first half said.
    if (std::move(entry).get(field) || field.unescaped_key().get(key))
      break;
    if (family == contract::api_family::openai)
      read_answer_field(key, field.value(), facts, content);
    else
      read_typed_field(key, field.value(), facts, content);
  }
  facts.content |= content;
  facts.content_events += content ? 1 : 0;
}

} // namespace assay::http
