#include "src/pool/standing.hpp"

#include <array>

namespace assay::pool {

std::string_view name(standing s) {
  constexpr std::array<std::string_view, standing_count> names{
    "fine", "warming", "stale", "full", "failing", "probing", "stalled", "wedged"};
  return names[static_cast<std::size_t>(s)];
}

} // namespace assay::pool
