#include "src/cli/admin_client.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <yaml-cpp/yaml.h>

namespace assay::cli {

namespace {

constexpr auto standalone_socket = "/var/lib/assay/run/admin.sock";

problem bad_server(const std::string& source, const std::string& why) {
  return {
    problem_kind::invalid, why, source, "for example --server unix:/var/lib/assay/run/admin.sock"};
}

result<http::client_address, problem> parse(const std::string& source, const std::string& text) {
  auto parsed = http::parse_client_address(text);
  if (!parsed)
    return unexpected{bad_server(source, parsed.error())};
  return *parsed;
}

/// Nothing when there is no such file; a file that cannot be read as YAML is an error, not a
/// default.
result<std::string, problem> configured_server(const std::filesystem::path& file) {
  std::error_code ignored; // A file that cannot be looked at is as good as none here.
  if (!std::filesystem::exists(file, ignored))
    return std::string{};
  try {
    auto server = YAML::LoadFile(file.string())["server"];
    return server ? server.as<std::string>() : std::string{};
  } catch (const YAML::Exception& why) {
    return unexpected{
      problem{problem_kind::invalid, why.what(), file.string(), "mend or remove the file"}};
  }
}

problem unreachable(const http::client_address& server, const http::client_error& why) {
  auto next = std::string{"is assayd running there?"};
  if (why.kind == http::client_failure::refused)
    next += " name another with --server or $ASSAY_SERVER; deploy/try --keep starts one";
  return {problem_kind::unavailable, "no answer from assayd: " + why.text, to_text(server), next};
}

std::string text_of(const json::object& from, std::string_view key) {
  const auto* value = from.if_contains(key);
  return value && value->is_string() ? std::string{value->get_string()} : std::string{};
}

problem_kind parse_kind(std::string_view text) {
  for (auto kind :
       {problem_kind::invalid,
        problem_kind::not_found,
        problem_kind::refused,
        problem_kind::forbidden,
        problem_kind::unavailable,
        problem_kind::exhausted})
    if (name(kind) == text)
      return kind;
  return problem_kind::unavailable;
}

problem refusal_of(const json::object& answer, int status) {
  const auto* error = answer.if_contains("error");
  if (!error || !error->is_object())
    return {
      problem_kind::unavailable,
      "assayd answered " + std::to_string(status),
      {},
      "see assayd's log"};
  const auto& told = error->get_object();
  problem p{
    parse_kind(text_of(told, "kind")),
    text_of(told, "what"),
    text_of(told, "where"),
    text_of(told, "next")};
  // An apply names everything that is wrong with the files, one line each.
  if (const auto* all = answer.if_contains("problems"); all && all->is_array())
    for (const auto& one : all->get_array())
      if (one.is_object())
        p.what += "\n  "
                  + to_text(problem{
                    problem_kind::invalid,
                    text_of(one.get_object(), "what"),
                    text_of(one.get_object(), "where"),
                    text_of(one.get_object(), "next")});
  return p;
}

} // namespace

result<http::client_address, problem> find_server(const std::string& option) {
  if (!option.empty())
    return parse("--server", option);
  if (const auto* named = std::getenv("ASSAY_SERVER"); named && *named)
    return parse("$ASSAY_SERVER", named);
  if (const auto* home = std::getenv("HOME")) {
    auto file = std::filesystem::path{home} / ".config/assay/config.yaml";
    auto server = configured_server(file);
    if (!server)
      return unexpected{server.error()};
    if (!server->empty())
      return parse(file.string(), *server);
  }
  return http::client_address{.unix_path = standalone_socket};
}

std::string segment(std::string_view name) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string text;
  for (auto c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) || std::string_view{"-._~@"}.find(c) != std::string_view::npos) {
      text += c;
      continue;
    }
    text += '%';
    text += digits[static_cast<unsigned char>(c) >> 4];
    text += digits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

result<json::object, problem>
admin_client::call(http::client_request request, const http::client_limits& limits) const {
  request.target = "/assay/v1/" + request.target;
  request.headers.emplace_back("Content-Type", "application/json");
  auto got = http::exchange(server_, request, limits);
  if (!got)
    return unexpected{unreachable(server_, got.error())};
  boost::system::error_code bad;
  auto parsed = json::parse(got->body, bad);
  if (bad || !parsed.is_object())
    return unexpected{problem{
      problem_kind::unavailable,
      "the answer (" + std::to_string(got->status) + ") is not a JSON object",
      to_text(server_),
      "is that assayd's admin socket?"}};
  if (got->status >= 300)
    return unexpected{refusal_of(parsed.get_object(), got->status)};
  return std::move(parsed.get_object());
}

result<json::object, problem> admin_client::get(const std::string& path) const {
  return call({"GET", path, {}, {}});
}

result<json::object, problem>
admin_client::post(const std::string& path, const json::object& body) const {
  return call({"POST", path, {}, json::serialize(body)});
}

result<json::object, problem> admin_client::post(
  const std::string& path, const json::object& body, std::chrono::seconds patience
) const {
  return call({"POST", path, {}, json::serialize(body)}, {.first_byte = patience});
}

result<json::object, problem> admin_client::remove(const std::string& path) const {
  return call({"DELETE", path, {}, {}});
}

result<void, problem>
admin_client::download(const std::string& path, const http::data_sink& sink) const {
  auto got = http::exchange(
    server_, {"GET", "/assay/v1/" + path, {}, {}}, {.body_bytes = ~std::size_t{0}}, sink
  );
  if (!got)
    return unexpected{unreachable(server_, got.error())};
  if (got->status == 200)
    return {};
  boost::system::error_code bad;
  auto parsed = json::parse(got->body, bad);
  if (bad || !parsed.is_object())
    return unexpected{refusal_of({}, got->status)};
  return unexpected{refusal_of(parsed.get_object(), got->status)};
}

} // namespace assay::cli
