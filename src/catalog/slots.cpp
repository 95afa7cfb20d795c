#include "src/catalog/slots.hpp"

#include "src/catalog/declarations.hpp"

namespace assay::catalog {

namespace {

constexpr std::string_view agent_slots[] = {
  "artifact_dir",
  "artifact_file",
  "host",
  "port",
  "served_name",
  "slots",
  "context_tokens",
  "output_tokens",
  "cache_dir",
  "devices",
};

/// One piece of plain text, and the slot behind it (empty at the end of the template).
struct piece {
  std::string_view plain;
  std::string_view slot;
};

std::optional<piece> take_piece(std::string_view& rest) {
  const auto open = rest.find("${");
  piece taken{rest.substr(0, open), {}};
  if (open == rest.npos) {
    rest = {};
    return taken;
  }
  const auto close = rest.find('}', open);
  if (close == rest.npos)
    return {};
  taken.slot = rest.substr(open + 2, close - open - 2);
  rest.remove_prefix(close + 1);
  if (!is_name(taken.slot))
    return {};
  return taken;
}

} // namespace

std::string canonical_slot(std::string_view slot) {
  std::string text{slot};
  for (auto& c : text)
    if (c == '-' || c == ' ')
      c = '_';
  return text;
}

std::span<const std::string_view> system_slots() {
  return agent_slots;
}

std::optional<std::vector<std::string>> slots_in(std::string_view text) {
  std::vector<std::string> found;
  while (!text.empty()) {
    const auto piece = take_piece(text);
    if (!piece)
      return {};
    if (!piece->slot.empty())
      found.push_back(canonical_slot(piece->slot));
  }
  return found;
}

result<std::string, std::string> replace_slots(
  std::string_view text, const std::function<std::optional<std::string>(const std::string&)>& value
) {
  std::string filled;
  while (!text.empty()) {
    const auto piece = take_piece(text);
    if (!piece)
      return unexpected{std::string{"${"}};
    filled += piece->plain;
    if (piece->slot.empty())
      continue;
    const auto slot = canonical_slot(piece->slot);
    const auto found = value(slot);
    if (!found)
      return unexpected{slot};
    filled += *found;
  }
  return filled;
}

} // namespace assay::catalog
