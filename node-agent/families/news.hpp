#pragma once
// What one look at a family made known.

#include "src/wire/fabric_messages.hpp"

#include <optional>
#include <vector>

namespace assay::agent {

struct family_news {
  std::vector<fabric::native_sample> samples;
  std::vector<fabric::device_event> events; ///< All that are kept, oldest first.
  std::optional<fabric::inventory> found;   ///< Nothing: the look does not say.
};

} // namespace assay::agent
