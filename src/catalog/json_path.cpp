#include "src/catalog/json_path.hpp"

#include "src/base/limits.hpp"
#include "src/catalog/slots.hpp"

#include <boost/json.hpp>

#include <charconv>

namespace assay::catalog {

namespace {

namespace json = boost::json;

std::string_view take_step(std::string_view& path) {
  const auto step = path.substr(0, path.find('.'));
  path.remove_prefix(std::min(path.size(), step.size() + 1));
  return step;
}

const json::value* child(const json::value& parent, std::string_view step) {
  if (const auto* object = parent.if_object())
    return object->if_contains({step.data(), step.size()});
  const auto* array = parent.if_array();
  std::size_t position = 0;
  const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), position);
  const bool whole = error == std::errc{} && end == step.data() + step.size();
  if (array == nullptr || !whole || position >= array->size())
    return nullptr;
  return &(*array)[position];
}

std::optional<json::value> parse(std::string_view text) {
  json::error_code error;
  auto value = json::parse({text.data(), text.size()}, error);
  if (error)
    return {};
  return value;
}

} // namespace

bool is_json_path(std::string_view path) {
  if (path.empty() || path.size() > limits::text_bytes || path.back() == '.')
    return false;
  while (!path.empty())
    if (take_step(path).empty())
      return false;
  return true;
}

std::optional<std::string> read_json(std::string_view body, std::string_view path) {
  const auto root = parse(body);
  if (!root)
    return {};
  const auto* at = &*root;
  while (at != nullptr && !path.empty())
    at = child(*at, take_step(path));
  if (at == nullptr || at->is_null())
    return {};
  if (const auto* text = at->if_string())
    return std::string{text->data(), text->size()};
  return json::serialize(*at);
}

bool is_json_template(std::string_view text) {
  // A digit fits both between quotes and bare.
  const auto filled = replace_slots(text, [](const std::string&) { return std::string{"1"}; });
  return filled && parse(*filled).has_value();
}

std::string json_escaped(std::string_view text) {
  const auto quoted = json::serialize(json::string_view{text.data(), text.size()});
  return quoted.substr(1, quoted.size() - 2);
}

} // namespace assay::catalog
