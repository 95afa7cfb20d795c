#include "src/routing/bodies.hpp"

#include "src/routing/candidates.hpp"

#include <algorithm>

namespace assay::routing {

std::uint64_t longest_body(const routing_snapshot& s, const caller& c) {
  std::uint64_t longest = 0;
  for (const auto& m : s.models()) {
    if (!may_use_model(s, c, m))
      continue;
    if (m.promises.limits.body_bytes == 0)
      return 0;
    longest = std::max(longest, m.promises.limits.body_bytes);
  }
  return longest;
}

} // namespace assay::routing
