#pragma once
// The words of runtime profiles, each closed list in one table: spelling and value.

#include "src/catalog/profile.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::catalog::words {

template <class Enum>
using table = std::span<const std::pair<std::string_view, Enum>>;

table<arg_form> arg_forms();
table<std::string_view> device_ids();
table<bool> connect_answers();
table<stop_signal> stop_signals();
table<int> exit_signals(); ///< `KILL` -> 9.
table<run_phase> run_phases();
table<remedy> remedies();
table<signal_type> signal_types();
table<across_rule> across_rules();
table<dialect> dialects();
table<replica_auth> auths();
table<error_shape> error_shapes();
table<stream_error> stream_errors();
table<usage_mode> usage_modes();

std::vector<std::string_view> families();
std::vector<std::string_view> artifact_kinds();
std::vector<std::string_view> failure_codes();
std::vector<std::string_view> operations();
std::vector<std::string_view> finish_reasons();

template <class Enum>
std::optional<Enum> find(table<Enum> words, std::string_view word) {
  for (const auto& [spelled, value] : words)
    if (spelled == word)
      return value;
  return {};
}

template <class Enum>
std::string_view spelling(table<Enum> words, Enum value) {
  for (const auto& [spelled, known] : words)
    if (known == value)
      return spelled;
  return "?";
}

template <class Enum>
std::vector<std::string_view> spelled(table<Enum> words) {
  std::vector<std::string_view> all;
  for (const auto& [word, value] : words)
    all.push_back(word);
  return all;
}

} // namespace assay::catalog::words
