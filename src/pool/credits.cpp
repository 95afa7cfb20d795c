#include "src/pool/credits.hpp"

#include <algorithm>

namespace assay::pool {

std::vector<std::uint32_t>
split_credits(std::uint32_t slots, const std::vector<std::uint32_t>& in_use, std::size_t first) {
  std::vector<std::uint32_t> given(in_use.size(), 0);
  if (in_use.empty())
    return given;
  // One credit a round: first to those who use one, then to everybody. Slots are few.
  auto left = slots;
  for (auto served = true; served && left > 0;) {
    served = false;
    for (std::size_t k = 0; k < given.size() && left > 0; ++k) {
      auto i = (first + k) % given.size();
      if (given[i] >= in_use[i])
        continue;
      ++given[i];
      --left;
      served = true;
    }
  }
  auto everybody = static_cast<std::uint32_t>(given.size());
  for (auto& g : given)
    g += left / everybody;
  for (std::size_t k = 0; k < left % everybody; ++k)
    ++given[(first + k) % given.size()];
  return given;
}

} // namespace assay::pool
