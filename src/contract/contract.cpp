#include "src/contract/contract.hpp"

#include <array>

namespace assay::contract {

namespace {

constexpr std::array task_names{"chat", "completion", "embedding", "rerank", "infer"};
constexpr std::array class_names{"interactive", "batch", "evaluation", "shadow"};
constexpr std::array rule_names{"keep", "shrink", "stop"};

template <class Enum, std::size_t Count>
std::optional<Enum> find(const std::array<const char*, Count>& names, std::string_view text) {
  for (std::size_t i = 0; i < Count; ++i)
    if (text == names[i])
      return static_cast<Enum>(i);
  return {};
}

} // namespace

std::string_view name(task t) {
  return task_names[static_cast<std::size_t>(t)];
}

std::string_view name(traffic_class c) {
  return class_names[static_cast<std::size_t>(c)];
}

std::string_view name(degraded_rule r) {
  return rule_names[static_cast<std::size_t>(r)];
}

std::optional<task> parse_task(std::string_view text) {
  return find<task>(task_names, text);
}

std::optional<traffic_class> parse_traffic_class(std::string_view text) {
  return find<traffic_class>(class_names, text);
}

std::optional<degraded_rule> parse_degraded_rule(std::string_view text) {
  return find<degraded_rule>(rule_names, text);
}

} // namespace assay::contract
