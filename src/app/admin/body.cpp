// What a request holds, and its body under a key, or what is wrong with it.

#include "src/app/admin/admin.hpp"
#include "src/base/text.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace assay::app::admin {

std::optional<problem> not_text(const http::service_request& request) {
  auto refuse = [](std::string where) {
    return problem{
      problem_kind::invalid,
      "is not UTF-8 text",
      std::move(where),
      "names are UTF-8; what stands behind a % are its bytes"};
  };
  if (!is_utf8(request.path))
    return refuse("the path");
  for (const auto& [key, value] : request.query) {
    if (!is_utf8(key))
      return refuse("a key of the query");
    if (!is_utf8(value))
      return refuse("the query's " + key);
  }
  return {};
}

result<json::object, problem> body_of(const http::service_request& request) {
  if (request.body.empty())
    return json::object{};
  boost::system::error_code bad;
  json::parse_options options;
  options.max_depth = 32;
  auto parsed = json::parse(request.body, bad, {}, options);
  if (bad || !parsed.is_object())
    return unexpected{problem{
      problem_kind::invalid,
      bad ? "the body is not a JSON object: " + bad.message() : "the body is not a JSON object",
      request.path,
      "docs/admin-api.md says what each call takes"}};
  return std::move(parsed.get_object());
}

result<std::string, problem>
text_at(const json::object& from, std::string_view key, bool required) {
  const auto* value = from.if_contains(key);
  if (!value && !required)
    return std::string{};
  if (value && value->is_string() && (!required || !value->get_string().empty()))
    return std::string{value->get_string()};
  auto is_empty = value && value->is_string();
  return unexpected{problem{
    problem_kind::invalid,
    is_empty ? "is empty"
    : value  ? "is not a text"
             : "is missing",
    std::string{key},
    "give a JSON string"}};
}

result<std::int64_t, problem>
number_at(const json::object& from, std::string_view key, std::int64_t otherwise) {
  const auto* value = from.if_contains(key);
  if (!value)
    return otherwise;
  boost::system::error_code bad;
  auto number = value->is_number() ? value->to_number<std::int64_t>(bad) : -1;
  if (!value->is_number() || bad || number < 0)
    return unexpected{problem{
      problem_kind::invalid,
      json::serialize(*value) + " is not a whole number from 0 on",
      std::string{key},
      {}}};
  return number;
}

result<bool, problem> flag_at(const json::object& from, std::string_view key) {
  const auto* value = from.if_contains(key);
  if (!value)
    return false;
  if (value->is_bool())
    return value->get_bool();
  return unexpected{problem{
    problem_kind::invalid,
    json::serialize(*value) + " is neither true nor false",
    std::string{key},
    "give a JSON truth value, without quotes"}};
}

} // namespace assay::app::admin
