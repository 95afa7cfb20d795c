#pragma once
// A file of YAML documents as plain trees, each part with its line and column.
//
// This is the only place that knows yaml-cpp; its exceptions end here. Only what declarations need
// is let through: no anchors and aliases (a few lines of them expand to gigabytes), no tags, no
// keys that are not words, bounded size and depth. A fault in one document does not hide the
// others.

#include "src/catalog/complaints.hpp"
#include "src/catalog/parse.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace assay::catalog {

enum class node_kind : std::uint8_t { null, scalar, sequence, mapping };

struct node_entry;

struct node {
  node_kind kind = node_kind::null;
  std::string text;    ///< Of a scalar.
  bool quoted = false; ///< In quotes or as a block: text, whatever it looks like.
  std::size_t line = 1;
  std::size_t column = 1;
  std::vector<node> items;         ///< Of a sequence.
  std::vector<node_entry> entries; ///< Of a mapping, in the order written, doubles included.
};

struct node_entry {
  std::string key; ///< As written.
  std::size_t line = 1;
  std::size_t column = 1;
  node value;
};

/// `text` is the document as written, without its `---` line and outer blank lines, ending in one
/// newline.
struct yaml_document {
  std::string file;
  std::string text;
  node root;

  source_place place_of(const node& n) const { return {file, n.line, n.column}; }
};

/// All documents that could be read; what could not is in `out`.
std::vector<yaml_document> read_yaml(const source_file& file, complaints& out);

} // namespace assay::catalog
