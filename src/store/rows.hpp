#pragma once
// Committed rows as readers see them: copied out, in pages, so that no reader pins the store.

#include <cstddef>
#include <string>

namespace assay::store {

struct stored_row {
  std::string key;
  std::string value;

  friend bool operator==(const stored_row&, const stored_row&) = default;
};

/// Which rows a reader wants. A page ends at `count`, at `limits::page_bytes` or after
/// `limits::reader_age`; the next page starts behind the last key. An empty page is the end.
struct row_scan {
  std::string prefix;
  std::string from; ///< First key wanted; empty: the first of the prefix, or its last downwards.
  std::size_t count = 1'000;
  bool is_downwards = false;
};

} // namespace assay::store
