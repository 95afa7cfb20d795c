#pragma once
// How a runtime ended, in words that say what to do about it.

#include "node-agent/runtime/holder_files.hpp"
#include "src/catalog/profile.hpp"

#include <string>

namespace assay::agent {

/// From the exit record and, unless the end was asked for, what the profile knows of the log's last
/// lines. `has_served` tells a death at work from one while loading.
std::string exit_text(
  const catalog::runtime_profile& profile,
  const exit_record& record,
  const std::string& log_tail,
  bool has_served
);

} // namespace assay::agent
