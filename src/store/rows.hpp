#pragma once
// Committed rows as readers see them: copied out, in pages, so that no reader pins the store.

#include "src/consensus/state_pages.hpp"

#include <cstddef>
#include <string>

namespace assay::store {

using stored_row = consensus::state_row;

/// Which rows a reader wants. A page ends at `count`, at `limits::page_bytes` or after
/// `limits::reader_age`; the next page starts behind the last key. An empty page is the end.
struct row_scan {
  std::string prefix;
  std::string from; ///< First key wanted; empty: the first of the prefix, or its last downwards.
  std::size_t count = 1'000;
  bool is_downwards = false;
};

} // namespace assay::store
