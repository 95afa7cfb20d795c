#pragma once
// A declaration back to text: YAML that parses to the same value, JSON of the same shape, and flat
// name/value fields for `describe` and for diffs.

#include "src/catalog/declarations.hpp"

#include <string>
#include <vector>

namespace assay::catalog {

/// One document without `---`, ending in a newline. `parse` gives the same declaration back. A
/// runtime profile or suite is given as it was written.
std::string to_yaml(const declaration& d);

/// The same keys and values as a JSON object; numbers and booleans stay so. A runtime profile or
/// suite has its name, `sha256` and `text`.
std::string to_json(const declaration& d);

struct field {
  std::string name;  ///< As in YAML, nested keys with dots: `contract.limits.body`.
  std::string value; ///< As in YAML; lists of words are `[a, b]`.

  friend bool operator==(const field&, const field&) = default;
};

/// In the order of YAML, without the first key (kind and name). A profile or suite has only
/// `sha256` and `bytes`.
std::vector<field> fields_of(const declaration& d);

} // namespace assay::catalog
