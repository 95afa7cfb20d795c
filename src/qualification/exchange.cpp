#include "src/qualification/exchange.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

namespace assay::qualification {

namespace {

namespace json = boost::json;

using text_result = result<std::string, std::string>;

std::optional<json::object> parse_object(std::string_view text) {
  boost::system::error_code bad;
  auto value = json::parse({text.data(), text.size()}, bad);
  if (bad || !value.is_object())
    return std::nullopt;
  return std::move(value.as_object());
}

std::optional<std::string> string_of(const json::object& o, std::string_view member) {
  const auto* found = o.if_contains(member);
  if (!found || !found->is_string())
    return std::nullopt;
  return std::string{found->as_string()};
}

const json::object* object_of(const json::object& o, std::string_view member) {
  const auto* found = o.if_contains(member);
  return found ? found->if_object() : nullptr;
}

std::optional<std::uint32_t> count_of(const json::object& o, std::string_view member) {
  const auto* found = o.if_contains(member);
  if (!found)
    return std::nullopt;
  boost::system::error_code bad;
  const auto number = found->to_number<std::uint32_t>(bad);
  if (bad)
    return std::nullopt;
  return number;
}

std::optional<token_usage> usage_of(const json::object& answer) {
  const auto* usage = object_of(answer, "usage");
  if (!usage)
    return std::nullopt;
  const auto prompt = count_of(*usage, "prompt_tokens");
  const auto total = count_of(*usage, "total_tokens");
  const auto completion = count_of(*usage, "completion_tokens");
  if (!prompt || !total)
    return std::nullopt;
  return token_usage{*prompt, completion.value_or(0), *total};
}

/// The first choice, if there is one.
const json::object* choice_of(const json::object& answer) {
  const auto* choices = answer.if_contains("choices");
  if (!choices || !choices->is_array() || choices->as_array().empty())
    return nullptr;
  return choices->as_array().front().if_object();
}

/// The text of a choice: `message.content` or `delta.content` of a chat, `text` of a completion.
std::optional<std::string>
text_of(contract::task task, const json::object& choice, std::string_view wrapper) {
  if (task == contract::task::completion)
    return string_of(choice, "text");
  const auto* inner = object_of(choice, wrapper);
  return inner ? string_of(*inner, "content") : std::nullopt;
}

std::string_view object_name(contract::task task, bool streaming) {
  if (task == contract::task::completion)
    return "text_completion";
  return streaming ? "chat.completion.chunk" : "chat.completion";
}

unexpected<std::string> not_as_promised(std::string what) {
  return unexpected<std::string>{std::move(what)};
}

// -- event streams --------------------------------------------------------------------------------

/// Takes one line off `rest`, without its end.
std::string_view take_line(std::string_view& rest) {
  const auto end = rest.find('\n');
  auto line = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  return line;
}

/// Payloads of the events, in order; comments and other fields are left out.
std::vector<std::string> event_data(std::string_view events) {
  std::vector<std::string> all;
  std::optional<std::string> open;
  while (!events.empty()) {
    const auto line = take_line(events);
    if (line.empty()) {
      if (open)
        all.push_back(std::move(*open));
      open.reset();
      continue;
    }
    if (!line.starts_with("data:"))
      continue;
    auto value = line.substr(5);
    if (value.starts_with(' '))
      value.remove_prefix(1);
    open = open ? *open + "\n" + std::string{value} : std::string{value};
  }
  return all; // An event without its blank line never came whole.
}

/// Adds one event to what was read; an error is a sentence.
result<void, std::string> read_event(contract::task task, std::string_view data, reading& into) {
  const auto event = parse_object(data);
  if (!event)
    return not_as_promised("an event is no JSON object");
  if (event->contains("error"))
    return not_as_promised(
      "the stream carries an error event: " + std::string{data.substr(0, 200)}
    );
  if (string_of(*event, "object") != object_name(task, true))
    return not_as_promised(
      fmt::format("an event does not call itself \"{}\"", object_name(task, true))
    );
  if (auto usage = usage_of(*event))
    into.usage = usage;
  const auto* choice = choice_of(*event);
  if (!choice)
    return {};
  into.text += text_of(task, *choice, "delta").value_or("");
  const auto finish = string_of(*choice, "finish_reason");
  if (finish && !into.finish_reason.empty())
    return not_as_promised("the stream gives a finish reason twice");
  if (finish)
    into.finish_reason = *finish;
  return {};
}

} // namespace

result<reading, std::string> read_unary(contract::task task, std::string_view body) {
  const auto answer = parse_object(body);
  if (!answer)
    return not_as_promised("the body is no JSON object");
  if (string_of(*answer, "object") != object_name(task, false))
    return not_as_promised(
      fmt::format("the body does not call itself \"{}\"", object_name(task, false))
    );
  const auto* choice = choice_of(*answer);
  if (!choice)
    return not_as_promised("the body has no `choices`");
  const auto text = text_of(task, *choice, "message");
  if (!text)
    return not_as_promised("the first choice holds no text");
  const auto finish = string_of(*choice, "finish_reason");
  if (!finish)
    return not_as_promised("the first choice has no `finish_reason`");
  return reading{*text, *finish, usage_of(*answer)};
}

result<reading, std::string> read_stream(contract::task task, std::string_view events) {
  const auto payloads = event_data(events);
  if (payloads.empty())
    return not_as_promised("the stream has no event");
  reading read;
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    const bool last = i + 1 == payloads.size();
    if (payloads[i] == "[DONE]" && !last)
      return not_as_promised("an event comes after `[DONE]`");
    if (payloads[i] == "[DONE]")
      continue;
    if (auto ok = read_event(task, payloads[i], read); !ok)
      return unexpected{ok.error()};
  }
  if (payloads.back() != "[DONE]")
    return not_as_promised("the stream ends without `[DONE]`");
  if (read.finish_reason.empty())
    return not_as_promised("the stream ends without a `finish_reason`");
  return read;
}

result<reading, std::string> read(contract::task task, const exchange& e) {
  if (e.answer.status != 200) {
    const auto why = read_error(e.answer.body);
    return not_as_promised(fmt::format("status {}: {}", e.answer.status, why ? *why : why.error()));
  }
  return e.ask.streaming ? read_stream(task, e.answer.body) : read_unary(task, e.answer.body);
}

result<std::string, std::string> read_error(std::string_view body) {
  const auto answer = parse_object(body);
  if (!answer)
    return not_as_promised("the error's body is no JSON object");
  const auto* error = object_of(*answer, "error");
  if (!error)
    return not_as_promised("the error's body has no `error` object");
  auto message = string_of(*error, "message");
  if (!message || message->empty())
    return not_as_promised("the error has no `message`");
  return std::move(*message);
}

bool is_unavailable(int status) {
  return status == 408 || status == 429 || (status >= 502 && status <= 504);
}

std::string_view path_of(contract::task task) {
  return task == contract::task::completion ? "/v1/completions" : "/v1/chat/completions";
}

std::string compose_body(
  contract::task task,
  std::string_view model,
  const std::vector<message>& messages,
  const sampling& how,
  std::string_view extra
) {
  json::object body;
  body["model"] = model;
  if (task == contract::task::completion) {
    std::string prompt;
    for (const auto& m : messages)
      prompt += m.content;
    body["prompt"] = prompt;
  } else {
    json::array list;
    for (const auto& m : messages)
      list.push_back(json::object{{"role", m.role}, {"content", m.content}});
    body["messages"] = std::move(list);
  }
  body["max_tokens"] = how.max_tokens;
  body["temperature"] = static_cast<double>(how.temperature_millionths) / 1e6;
  if (how.top_p_millionths)
    body["top_p"] = static_cast<double>(*how.top_p_millionths) / 1e6;
  if (how.seed)
    body["seed"] = *how.seed;
  auto text = json::serialize(body);
  if (!extra.empty())
    text.insert(text.size() - 1, "," + std::string{extra});
  return text;
}

} // namespace assay::qualification
