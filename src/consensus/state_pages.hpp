#pragma once
// How a member whose log ends before the others' begin gets a state: it asks one of them, page by
// page. Values only; src/store carries them out, src/wire gives them their form on the wire.

#include "src/base/digest.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace assay::consensus {

/// A row of the state environment.
struct state_row {
  std::string key;
  std::string value;

  friend bool operator==(const state_row&, const state_row&) = default;
};

struct state_request {
  std::uint64_t from = 0, to = 0;
  std::uint64_t attempt = 0;  ///< Names one state of one asker: pages of two do not mix.
  std::uint64_t at_least = 0; ///< The state must hold what was applied up to this index.
  std::string after;          ///< The last key that the asker has; empty: it begins.

  friend bool operator==(const state_request&, const state_request&) = default;
};

/// Answers one request. Rows come in the order of their keys, all of one moment.
struct state_page {
  std::uint64_t from = 0, to = 0;
  std::uint64_t attempt = 0;
  std::string after;       ///< As asked.
  bool is_refused = false; ///< This member's state is too old, or it forgot the attempt.
  std::vector<state_row> rows;
  bool is_last = false;              ///< Then the rest is set.
  std::uint64_t index = 0, term = 0; ///< Of the last entry that the state holds.
  digest root;                       ///< Over all rows of all pages.

  friend bool operator==(const state_page&, const state_page&) = default;
};

} // namespace assay::consensus
