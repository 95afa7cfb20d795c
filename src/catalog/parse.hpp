#pragma once
// YAML in, declarations out. Either every document of an apply is good, or all that is wrong with
// all of them is told at once; a half of an apply never comes out.
//
// The first key of a document names its kind. Keys may be written with spaces, hyphens or
// underscores alike. Nothing here knows what is declared already: names of pools or artifacts that
// do not exist yet are no error (src/catalog/diff.hpp lists them).

#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/catalog/declarations.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace assay::catalog {

/// One file of an apply; `name` is what problems call it (`-` for standard input).
struct source_file {
  std::string name;
  std::string text;
};

/// Counted from one, as editors do.
struct source_place {
  std::string file;
  std::size_t line = 1;
  std::size_t column = 1;

  friend bool operator==(const source_place&, const source_place&) = default;
};

/// `file:line:column`
std::string to_text(const source_place& place);

struct declared {
  declaration value;
  source_place place; ///< Of the name, in its document.
};

/// What one apply wants, in the order it was written; kind and name are unique.
struct catalog_set {
  std::vector<declared> items;
  std::vector<problem> notes; ///< Not wrong, but worth a line: a model that nothing serves.
};

/// The values without their places.
std::vector<declaration> declarations_of(const catalog_set& set);

/// Every problem names `file:line:column: key`, what was seen, what is allowed and what to do next;
/// they come in the order of the files and of their lines. All are of kind `invalid`.
result<catalog_set, std::vector<problem>> parse(std::span<const source_file> files);

} // namespace assay::catalog
