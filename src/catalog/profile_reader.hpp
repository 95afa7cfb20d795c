#pragma once
// From the tree of a `runtime-profile:` document to the profile, with everything that is wrong.

#include "src/catalog/complaints.hpp"
#include "src/catalog/profile.hpp"
#include "src/catalog/yaml_tree.hpp"

#include <optional>

namespace assay::catalog {

/// Nothing when anything was wrong. The document must be a mapping.
std::optional<runtime_profile> read_profile(const yaml_document& document, complaints& out);

} // namespace assay::catalog
