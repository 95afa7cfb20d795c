#include "src/pool/replica.hpp"

#include <array>

namespace assay::pool {

namespace {

constexpr std::array<std::string_view, 10> names{
  "absent",
  "starting",
  "loading",
  "proving",
  "ready",
  "saturated",
  "suspect",
  "draining",
  "stopping",
  "gone",
};

} // namespace

std::string_view name(phase p) {
  return names[static_cast<std::size_t>(p)];
}

std::optional<phase> parse_phase(std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == text)
      return static_cast<phase>(i);
  return {};
}

bool serves(phase p) {
  return p == phase::ready || p == phase::saturated;
}

bool holds_devices(phase p) {
  return p != phase::gone;
}

} // namespace assay::pool
