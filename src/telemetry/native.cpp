#include "src/telemetry/native.hpp"

#include "src/base/overloaded.hpp"

#include <array>
#include <cctype>
#include <charconv>

namespace assay::telemetry {

namespace {

std::string number_text(double value) {
  std::array<char, 32> buffer{};
  auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string metric_name(const sample& s) {
  auto result = std::string{native_prefix(s.family)} + '_';
  for (auto c : s.name)
    result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return result;
}

std::string in_quotes(std::string_view value) {
  std::string result{'"'};
  for (auto c : value) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + '"';
}

void append_state(std::string& text, const sample& s) {
  text += std::string{native_prefix(s.family)} + "_sample_state{name=" + in_quotes(s.name)
          + ",device=" + in_quotes(s.device) + ",state=" + in_quotes(state_name(s.reading))
          + "} 1\n";
}

void append_value(std::string& text, const sample& s) {
  text += metric_name(s) + "{device=" + in_quotes(s.device) + ",unit=" + in_quotes(s.unit);
  if (const auto* words = std::get_if<std::string>(&s.reading))
    text += ",value=" + in_quotes(*words) + "} 1\n";
  else
    text += "} " + to_text(s.reading) + '\n';
}

} // namespace

std::string_view native_prefix(std::string_view family) {
  if (family == "nvidia")
    return "nvml";
  return family == "amd" ? "amdgpu" : family;
}

bool has_value(const reading& r) {
  return r.index() < 4;
}

std::string_view state_name(const reading& r) {
  return std::visit(
    overloaded{
      [](const unsupported&) -> std::string_view { return "unsupported"; },
      [](const unavailable&) -> std::string_view { return "unavailable"; },
      [](const failed&) -> std::string_view { return "failed"; },
      [](const auto&) -> std::string_view { return "value"; },
    },
    r
  );
}

std::string_view name(sample_kind k) {
  switch (k) {
  case sample_kind::gauge:
    return "gauge";
  case sample_kind::counter:
    return "counter";
  case sample_kind::state:
    return "state";
  }
  return "gauge";
}

std::string to_text(const reading& r) {
  return std::visit(
    overloaded{
      [](std::uint64_t value) { return std::to_string(value); },
      [](std::int64_t value) { return std::to_string(value); },
      [](double value) { return number_text(value); },
      [](const std::string& value) { return value; },
      [](const unsupported&) -> std::string { return "unsupported"; },
      [](const unavailable& u) { return "unavailable: " + u.why; },
      [](const failed& f) { return "failed(" + std::to_string(f.code) + "): " + f.why; },
    },
    r
  );
}

std::string to_prometheus(const std::vector<sample>& samples) {
  std::string text;
  for (const auto& s : samples)
    has_value(s.reading) ? append_value(text, s) : append_state(text, s);
  return text;
}

} // namespace assay::telemetry
