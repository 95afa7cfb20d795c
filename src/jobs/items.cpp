#include "src/jobs/items.hpp"

#include "src/base/limits.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <optional>
#include <unordered_set>

namespace assay::jobs {

namespace {

constexpr std::size_t custom_id_bytes = 256;

struct parsers {
  simdjson::dom::parser whole; ///< Checks every byte.
  simdjson::ondemand::parser spans;
};

struct field {
  std::string key; ///< Unescaped.
  std::string_view raw;
};

/// The members of one JSON object, in order, each with its bytes. `line` must outlive them.
std::optional<std::vector<field>> members_of(parsers& with, const simdjson::padded_string& line) {
  if (with.whole.parse(line).error())
    return std::nullopt;
  simdjson::ondemand::document document;
  simdjson::ondemand::object object;
  if (with.spans.iterate(line).get(document) || document.get_object().get(object))
    return std::nullopt;
  std::vector<field> members;
  for (auto member : object) {
    std::string_view key;
    std::string_view raw;
    if (member.unescaped_key().get(key))
      return std::nullopt;
    std::string kept{key};
    if (simdjson::to_json_string(member.value()).get(raw))
      return std::nullopt;
    members.push_back({std::move(kept), raw});
  }
  return members;
}

const field* find(const std::vector<field>& members, std::string_view key) {
  for (const auto& m : members)
    if (m.key == key)
      return &m;
  return nullptr;
}

/// The text of a JSON string; nothing when the value is something else.
std::optional<std::string> text_of(parsers& with, std::string_view raw) {
  std::string_view text;
  if (with.whole.parse(raw.data(), raw.size()).get_string().get(text))
    return std::nullopt;
  return std::string{text};
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out.push_back(c);
  }
  return out + "\"";
}

std::string_view path_of(contract::task task) {
  return task == contract::task::completion ? "/v1/completions" : "/v1/chat/completions";
}

/// One line on its way to a request or a fault.
class line_reader {
public:
  line_reader(parsers& with, std::string_view line, std::uint32_t number, contract::task task)
    : with_{with}, line_{line}, number_{number}, task_{task} {
    custom_id_ = fmt::format("line-{}", number);
  }

  result<request, fault> read(std::string_view model) {
    if (line_.size() > limits::job_line_bytes)
      return wrong(
        "line_too_long",
        fmt::format("has {} bytes, the limit is {}", line_.size(), limits::job_line_bytes)
      );
    const simdjson::padded_string padded{line_};
    const auto members = members_of(with_, padded);
    if (!members)
      return wrong("invalid_json_line", "is no JSON object");
    if (auto ok = read_custom_id(*members); !ok)
      return unexpected{ok.error()};
    const bool is_batch =
      find(*members, "body") || find(*members, "url") || find(*members, "method");
    return is_batch ? read_batch(*members, model) : read_plain(*members, model);
  }

private:
  unexpected<fault> wrong(std::string code, const std::string& what) const {
    return unexpected<fault>{
      {custom_id_, std::move(code), fmt::format("line {} {}", number_, what)}};
  }

  result<void, fault> read_custom_id(const std::vector<field>& members) {
    const auto* found = find(members, "custom_id");
    if (!found)
      found = find(members, "id");
    if (!found)
      return {};
    const bool is_number =
      !found->raw.empty()
      && (found->raw[0] == '-' || (found->raw[0] >= '0' && found->raw[0] <= '9'));
    const auto text =
      is_number ? std::optional{std::string{found->raw}} : text_of(with_, found->raw);
    if (!text || text->empty() || text->size() > custom_id_bytes)
      return wrong(
        "invalid_custom_id",
        fmt::format("has a `{}` that is no text of 1 to {} bytes", found->key, custom_id_bytes)
      );
    custom_id_ = *text;
    return {};
  }

  result<request, fault> read_batch(const std::vector<field>& members, std::string_view model) {
    const auto* method = find(members, "method");
    if (method && text_of(with_, method->raw) != "POST")
      return wrong("invalid_method", "has a `method` that is not \"POST\"");
    const auto* url = find(members, "url");
    if (url && text_of(with_, url->raw) != path_of(task_))
      return wrong("invalid_url", fmt::format("has a `url` that is not \"{}\"", path_of(task_)));
    const auto* body = find(members, "body");
    if (!body)
      return wrong("missing_body", "has no `body`");
    const simdjson::padded_string padded{body->raw};
    const auto inner = members_of(with_, padded);
    if (!inner)
      return wrong("invalid_body", "has a `body` that is no JSON object");
    return finish(*inner, model);
  }

  result<request, fault> read_plain(const std::vector<field>& members, std::string_view model) {
    std::vector<field> inner;
    for (const auto& m : members)
      if (m.key != "custom_id" && m.key != "id")
        inner.push_back(m);
    return finish(inner, model);
  }

  /// The body with the job's model in it; a chat's `prompt` becomes its user message.
  result<request, fault> finish(const std::vector<field>& members, std::string_view model) {
    const bool chat = task_ != contract::task::completion;
    const auto* prompt = find(members, "prompt");
    const auto* messages = find(members, "messages");
    if (chat ? (prompt != nullptr) == (messages != nullptr) : !prompt || messages)
      return wrong(
        "invalid_request",
        chat ? "needs either `prompt` or `messages`" : "needs `prompt`, and no `messages`"
      );
    if (chat && prompt && !text_of(with_, prompt->raw))
      return wrong("invalid_request", "has a `prompt` that is no text");
    std::string body = "{\"model\":" + json_text(model);
    for (const auto& m : members) {
      if (m.key == "model")
        continue;
      if (m.key == "stream" && m.raw != "false")
        return wrong("stream_not_possible", "asks for a stream; results of a job come whole");
      if (m.key == "stream")
        continue;
      if (chat && m.key == "prompt")
        body += fmt::format(R"(,"messages":[{{"role":"user","content":{}}}])", m.raw);
      else
        body += fmt::format(",{}:{}", json_text(m.key), m.raw);
    }
    return request{custom_id_, std::string{path_of(task_)}, body + "}"};
  }

  parsers& with_;
  std::string_view line_;
  std::uint32_t number_ = 0;
  contract::task task_;
  std::string custom_id_;
};

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

problem refuse(std::string what, std::string next) {
  return {problem_kind::invalid, std::move(what), "the job's input", std::move(next)};
}

/// Takes one line off `rest` and says where it stood.
place take_place(std::string_view input, std::size_t& at, std::uint32_t& number) {
  const auto end = std::min(input.find('\n', at), input.size());
  auto bytes = end - at;
  if (bytes > 0 && input[at + bytes - 1] == '\r')
    --bytes;
  const place where{at, static_cast<std::uint32_t>(bytes), ++number};
  at = end + 1;
  return where;
}

void index_line(
  parsers& with,
  std::string_view line,
  const place& where,
  contract::task task,
  std::unordered_set<std::string>& ids,
  item_index& into
) {
  const auto item = static_cast<std::uint32_t>(into.items.size());
  into.items.push_back(where);
  auto read = line_reader{with, line, where.line, task}.read("m");
  if (!read)
    into.faults.emplace(item, read.error());
  else if (!ids.insert(read->custom_id).second)
    into.faults.emplace(
      item,
      fault{
        read->custom_id,
        "duplicate_custom_id",
        fmt::format(
          "line {} repeats the id {} of an earlier line", where.line, json_text(read->custom_id)
        ),
      }
    );
}

// -- lines of the result --------------------------------------------------------------------------

std::string line_id(std::string_view job, std::uint32_t item) {
  return fmt::format("batch_req_{}_{}", job, item);
}

/// One line of JSON, whatever the engine sent.
std::string as_json(std::string_view body) {
  simdjson::dom::parser parser;
  if (!parser.parse(body.data(), body.size()).error()) {
    std::string one_line{body};
    for (auto& c : one_line) // A line end outside of strings is space, inside it would be no JSON.
      if (c == '\n' || c == '\r')
        c = ' ';
    return one_line;
  }
  std::string text{body};
  if (!simdjson::validate_utf8(text.data(), text.size()))
    for (auto& c : text)
      if (static_cast<unsigned char>(c) >= 0x80)
        c = '?';
  return json_text(text);
}

} // namespace

result<item_index, problem> index_items(std::string_view input, contract::task task) {
  if (input.size() > limits::job_bytes)
    return unexpected{refuse(
      fmt::format("it has {} bytes, the limit is {}", input.size(), limits::job_bytes),
      "submit it in parts"
    )};
  parsers with;
  std::unordered_set<std::string> ids;
  item_index index;
  std::size_t at = input.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  std::uint32_t number = 0;
  while (at < input.size()) {
    const auto where = take_place(input, at, number);
    const auto line = input.substr(where.offset, where.bytes);
    if (is_blank(line))
      continue;
    if (index.items.size() == limits::job_items)
      return unexpected{
        refuse(fmt::format("it has more than {} items", limits::job_items), "submit it in parts")};
    index_line(with, line, where, task, ids, index);
  }
  if (index.items.empty())
    return unexpected{refuse(
      "there is no item in it",
      "write one JSON object a line: {\"prompt\": \"...\"} or an OpenAI batch line"
    )};
  return index;
}

result<request, fault> request_of(
  std::string_view line, std::uint32_t line_number, contract::task task, std::string_view model
) {
  parsers with;
  return line_reader{with, line, line_number, task}.read(model);
}

std::string output_line(
  std::string_view job,
  std::uint32_t item,
  std::string_view custom_id,
  int status,
  std::string_view request_id,
  std::string_view body
) {
  return fmt::format(
    R"({{"id":{},"custom_id":{},"response":{{"status_code":{},"request_id":{},"body":{}}},"error":null}})",
    json_text(line_id(job, item)),
    json_text(custom_id),
    status,
    json_text(request_id),
    as_json(body)
  );
}

std::string error_line(
  std::string_view job,
  std::uint32_t item,
  std::string_view custom_id,
  std::string_view code,
  std::string_view message
) {
  return fmt::format(
    R"({{"id":{},"custom_id":{},"response":null,"error":{{"code":{},"message":{}}}}})",
    json_text(line_id(job, item)),
    json_text(custom_id),
    json_text(code),
    json_text(message)
  );
}

bool is_error_line(std::string_view line) {
  simdjson::dom::parser parser;
  simdjson::dom::element read;
  std::int64_t status = 0;
  if (parser.parse(line.data(), line.size()).get(read))
    return true;
  if (read["response"]["status_code"].get_int64().get(status))
    return true;
  return status < 200 || status > 299;
}

} // namespace assay::jobs
