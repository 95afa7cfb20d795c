#include "src/cli/commands.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace assay::cli {

namespace {

struct target {
  http::client_address address;
  std::string prefix; ///< `/v1`
  std::string key;
};

result<target, problem> parse_target(const std::string& url, std::string key) {
  auto address = http::parse_client_address(url);
  if (!address)
    return unexpected{problem{
      problem_kind::invalid,
      address.error(),
      "OPENAI_BASE_URL",
      "for example http://127.0.0.1:7100/v1"}};
  auto path = url.find('/', url.find("//") == std::string::npos ? 0 : url.find("//") + 2);
  auto prefix = path == std::string::npos ? std::string{} : url.substr(path);
  while (prefix.ends_with('/'))
    prefix.pop_back();
  return target{std::move(*address), prefix, std::move(key)};
}

result<target, problem> find_target(const context& c) {
  const auto* url = std::getenv("OPENAI_BASE_URL");
  const auto* key = std::getenv("OPENAI_API_KEY");
  if (url && key)
    return parse_target(url, key);
  auto answer = c.server.get("env");
  if (!answer)
    return unexpected{answer.error()};
  return parse_target(text_at(*answer, "base_url"), text_at(*answer, "key"));
}

/// The text at `choices[0].MESSAGE.content`, empty when there is none.
std::string content_of(const json::value& document, std::string_view message) {
  boost::system::error_code absent; // Chunks without content are normal: role, usage.
  const auto* content =
    document.find_pointer("/choices/0/" + std::string{message} + "/content", absent);
  return content && content->is_string() ? std::string{content->get_string()} : std::string{};
}

/// Reads server-sent events as they come and prints what they add.
class stream_printer {
public:
  bool take(std::string_view piece) {
    pending_ += piece;
    for (auto end = pending_.find('\n'); end != std::string::npos; end = pending_.find('\n')) {
      line(std::string_view{pending_}.substr(0, end));
      pending_.erase(0, end + 1);
    }
    return true;
  }

  const std::string& text() const { return text_; }
  const std::string& error() const { return error_; }

private:
  void line(std::string_view text) {
    if (text.ends_with('\r'))
      text.remove_suffix(1);
    if (!text.starts_with("data:"))
      return;
    text.remove_prefix(text.starts_with("data: ") ? 6 : 5);
    boost::system::error_code bad; // `[DONE]` and the like are not JSON.
    auto event = json::parse(text, bad);
    if (bad || !event.is_object())
      return;
    if (const auto* error = event.get_object().if_contains("error"))
      error_ = json::serialize(*error);
    auto added = content_of(event, "delta");
    std::fwrite(added.data(), 1, added.size(), stdout);
    std::fflush(stdout);
    text_ += added;
  }

  std::string pending_, text_, error_;
};

problem failed(const target& to, const std::string& model, int status, const std::string& body) {
  boost::system::error_code bad;
  auto parsed = json::parse(body, bad);
  const auto* message = bad ? nullptr : parsed.find_pointer("/error/message", bad);
  auto kind = status == 404                    ? problem_kind::not_found
              : status >= 500 || status == 429 ? problem_kind::unavailable
                                               : problem_kind::refused;
  return {
    kind,
    std::to_string(status) + ": "
      + (message && message->is_string() ? std::string{message->get_string()} : body),
    to_text(to.address),
    "assay explain --model '" + model + "' shows every gate"};
}

result<std::string, problem>
say(const target& to, const chat_options& options, const json::array& messages) {
  json::object body{
    {"model", options.model},
    {"messages", messages},
    {"temperature", 0},
    {"stream", options.stream}};
  if (options.max_tokens > 0)
    body["max_tokens"] = options.max_tokens;
  http::client_request request{"POST", to.prefix + "/chat/completions", {}, json::serialize(body)};
  request.headers = {{"Content-Type", "application/json"}, {"Authorization", "Bearer " + to.key}};
  stream_printer printer;
  auto sink = [&](std::string_view piece) { return printer.take(piece); };
  auto got = http::exchange(
    to.address,
    request,
    {.first_byte = std::chrono::minutes{10}},
    options.stream ? http::data_sink{sink} : http::data_sink{}
  );
  if (!got)
    return unexpected{problem{
      problem_kind::unavailable, got.error().text, to_text(to.address), "is the ingress running?"}};
  if (got->status != 200)
    return unexpected{failed(to, options.model, got->status, got->body)};
  if (!printer.error().empty())
    return unexpected{problem{
      problem_kind::unavailable,
      "the stream failed: " + printer.error(),
      to_text(to.address),
      "try again"}};
  if (options.stream) {
    std::puts("");
    return printer.text();
  }
  boost::system::error_code bad;
  auto text = content_of(json::parse(got->body, bad), "message");
  std::printf("%s\n", text.c_str());
  return text;
}

} // namespace

int chat(const context& c, const chat_options& options) {
  auto to = find_target(c);
  if (!to)
    return complain(to.error());
  json::array messages;
  auto once = !options.text.empty();
  for (auto text = options.text;
       once || (std::cout << "> " << std::flush && std::getline(std::cin, text));) {
    messages.push_back(json::object{{"role", "user"}, {"content", text}});
    auto answer = say(*to, options, messages);
    if (!answer)
      return complain(answer.error());
    if (once)
      return 0;
    messages.push_back(json::object{{"role", "assistant"}, {"content", *answer}});
  }
  std::puts("");
  return 0;
}

} // namespace assay::cli
