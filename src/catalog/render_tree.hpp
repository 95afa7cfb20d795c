#pragma once
// A declaration as the tree that its YAML, its JSON and its fields are written from.

#include "src/catalog/declarations.hpp"
#include "src/catalog/yaml_tree.hpp"

namespace assay::catalog {

/// Keys in the order of the manual, kind and name first; keys that would say nothing are left out.
/// A scalar is marked `quoted` when it is text, whatever it looks like. A profile or suite has its
/// name, `sha256` and `text`.
node tree_of(const declaration& d);

} // namespace assay::catalog
