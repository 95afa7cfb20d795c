// What the body of a request holds under a key, or what is wrong with it.

#include "src/app/admin/admin.hpp"

#include <boost/json/serialize.hpp>

namespace assay::app::admin {

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
