#pragma once
// One reader per kind of declaration: from a document's tree to values. What is wrong goes to the
// complaints; a value that comes out beside complaints is never used.

#include "src/catalog/complaints.hpp"
#include "src/catalog/declarations.hpp"
#include "src/catalog/parse.hpp"
#include "src/catalog/reader.hpp"
#include "src/catalog/yaml_tree.hpp"

#include <vector>

namespace assay::catalog {

/// A model gives itself and its implementations, every other document one declaration; an unknown
/// kind or a document that is no mapping gives none.
std::vector<declared> read_document(const yaml_document& document, complaints& out);

/// The two kinds with the most in them (src/catalog/kinds_model.cpp).
std::vector<declared> read_model(mapping_reader& r);
declaration read_implementation(mapping_reader& r);

} // namespace assay::catalog
