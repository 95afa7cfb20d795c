#include "src/http/sse.hpp"

#include "src/base/limits.hpp"

#include <simdjson.h>

#include <algorithm>

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

void read_count(json::value v, std::uint64_t& into) {
  std::uint64_t count = 0;
  if (v.get_uint64().get(count) == simdjson::SUCCESS)
    into = count;
}

void read_usage(json::value v, std::optional<token_usage>& into) {
  json::json_type type;
  if (v.type().get(type) != simdjson::SUCCESS || type != json::json_type::object)
    return;
  token_usage usage;
  for_each_field(v, [&](std::string_view key, json::value field) {
    if (key == "prompt_tokens" || key == "input_tokens")
      read_count(field, usage.prompt);
    else if (key == "completion_tokens" || key == "output_tokens")
      read_count(field, usage.completion);
    else if (key == "prompt_tokens_details" && !is_null(field))
      for_each_field(field, [&](std::string_view inner, json::value count) {
        if (inner == "cached_tokens")
          read_count(count, usage.cached);
      });
  });
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
    read_usage(value, facts.usage);
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

} // namespace

struct answer_reader::parser {
  json::parser json;
};

answer_reader::answer_reader() : parser_{std::make_unique<parser>()} {}
answer_reader::~answer_reader() = default;
answer_reader::answer_reader(answer_reader&&) noexcept = default;
answer_reader& answer_reader::operator=(answer_reader&&) noexcept = default;

void answer_reader::look_into(std::string& text, stream_facts& facts) {
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
    read_answer_field(key, field.value(), facts, content);
  }
  facts.content |= content;
  facts.content_events += content ? 1 : 0;
}

std::size_t sse_observer::release(std::string_view window) {
  std::size_t boundary = 0;
  auto at = scanned_;
  if (after_cr_ && at < window.size()) {
    after_cr_ = false;
    if (window[at] == '\n') {
      line_at_ = ++at;
      boundary = event_open_ ? 0 : at;
    }
  }
  auto feed = window.find('\n', at);
  while (at < window.size()) {
    if (feed != window.npos && feed < at)
      feed = window.find('\n', at);
    auto end = std::min(feed, window.size());
    auto stop = window.substr(at, end - at).find('\r');
    end = stop == window.npos ? end : at + stop;
    if (end == window.size())
      break;
    auto next = end + 1;
    if (window[end] == '\r') {
      after_cr_ = next == window.size();
      if (!after_cr_ && window[next] == '\n')
        ++next;
    }
    auto line = window.substr(line_at_, end - line_at_);
    if (line.empty() && !line_open_) {
      end_event();
      boundary = next;
    } else {
      take_line(line);
    }
    line_open_ = false;
    line_at_ = at = next;
  }
  auto released = boundary;
  if (through_ || window.size() - boundary > limits::event_bytes) {
    // An event longer than what we hold goes through; its rest is only searched for its end.
    through_ |= window.size() > boundary;
    released = window.size();
    line_open_ |= line_at_ < released;
    data_.clear();
  }
  scanned_ = window.size() - released;
  line_at_ = line_at_ > released ? line_at_ - released : 0;
  return released;
}

void sse_observer::take_line(std::string_view line) {
  event_open_ = true;
  if (through_ || line.empty() || line.front() == ':')
    return;
  auto colon = std::min(line.find(':'), line.size());
  auto name = line.substr(0, colon);
  auto value = line.substr(std::min(colon + 1, line.size()));
  if (!value.empty() && value.front() == ' ')
    value.remove_prefix(1);
  if (name == "event")
    named_error_ = value == "error";
  if (name != "data")
    return;
  if (has_data_)
    data_ += '\n';
  data_ += value;
  has_data_ = true;
}

void sse_observer::end_event() {
  if (through_) {
    ++facts_.events;
    ++facts_.content_events;
    facts_.content = true;
  } else if (has_data_) {
    ++facts_.events;
    facts_.error |= named_error_;
    if (data_ == "[DONE]")
      facts_.done = true;
    else
      reader_->look_into(data_, facts_);
  }
  data_.clear();
  has_data_ = named_error_ = event_open_ = through_ = false;
}

} // namespace assay::http
