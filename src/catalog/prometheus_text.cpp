#include "src/catalog/prometheus_text.hpp"

#include "src/base/limits.hpp"

#include <charconv>
#include <limits>
#include <optional>

namespace assay::catalog {

namespace {

std::string_view trim_front(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  return first == text.npos ? std::string_view{} : text.substr(first);
}

/// A quoted label value from behind its opening quote; `rest` then begins behind the closing one.
std::optional<std::string> take_quoted(std::string_view& rest) {
  std::string value;
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c == '"')
      return value;
    if (c != '\\') {
      value += c;
      continue;
    }
    if (rest.empty())
      return {};
    value += rest.front() == 'n' ? '\n' : rest.front();
    rest.remove_prefix(1);
  }
  return {};
}

/// Labels from behind the opening brace; `rest` then begins behind the closing one.
bool take_labels(std::string_view& rest, metric_sample& sample) {
  for (;;) {
    rest = trim_front(rest);
    if (rest.starts_with('}')) {
      rest.remove_prefix(1);
      return true;
    }
    const auto equals = rest.find('=');
    if (equals == rest.npos || equals == 0)
      return false;
    auto name = rest.substr(0, equals);
    name = name.substr(0, name.find_last_not_of(" \t") + 1);
    rest = trim_front(rest.substr(equals + 1));
    if (!rest.starts_with('"'))
      return false;
    rest.remove_prefix(1);
    auto value = take_quoted(rest);
    if (!value)
      return false;
    sample.labels.emplace_back(name, std::move(*value));
    rest = trim_front(rest);
    if (rest.starts_with(','))
      rest.remove_prefix(1);
  }
}

std::optional<double> read_value(std::string_view text) {
  text = trim_front(text);
  text = text.substr(0, text.find_first_of(" \t\r"));
  if (text == "+Inf" || text == "Inf")
    return std::numeric_limits<double>::infinity();
  if (text == "-Inf")
    return -std::numeric_limits<double>::infinity();
  if (text == "NaN")
    return std::numeric_limits<double>::quiet_NaN();
  if (text.starts_with('+'))
    text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size())
    return {};
  return value;
}

std::optional<metric_sample> read_line(std::string_view line) {
  line = trim_front(line);
  if (line.empty() || line.front() == '#')
    return {};
  metric_sample sample;
  sample.name = line.substr(0, line.find_first_of("{ \t"));
  line.remove_prefix(sample.name.size());
  line = trim_front(line);
  if (line.starts_with('{')) {
    line.remove_prefix(1);
    if (!take_labels(line, sample))
      return {};
  }
  const auto value = read_value(line);
  if (sample.name.empty() || !value)
    return {};
  sample.value = *value;
  return sample;
}

} // namespace

std::string_view metric_sample::label(std::string_view wanted) const {
  for (const auto& [name, value] : labels)
    if (name == wanted)
      return value;
  return {};
}

void for_each_sample(
  std::string_view text, const std::function<void(const metric_sample&)>& visit
) {
  text = text.substr(0, limits::scrape_bytes);
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (const auto sample = read_line(line))
      visit(*sample);
  }
}

} // namespace assay::catalog
