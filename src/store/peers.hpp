#pragma once
// Who carries what members of a group say to each other, and what they say besides consensus. A
// group of one has nobody.
//
// The carrier shows by its peers' keys who they are, keeps the order of one member's messages to
// another on each lane, and may lose any of them: whoever waits for an answer asks again.

#include "src/base/digest.hpp"
#include "src/consensus/values.hpp"
#include "src/store/rows.hpp"

namespace assay::store {

/// A member whose log ends before the others' begin asks one of them for its state, page by page.
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
  std::string after;                 ///< As asked.
  bool is_refused = false;           ///< This member's state is too old, or it forgot the attempt.
  std::vector<stored_row> rows;      ///< About `state_page_bytes` of them, or one that is larger.
  bool is_last = false;              ///< Then the rest is set.
  std::uint64_t index = 0, term = 0; ///< Of the last entry that the state holds.
  digest root;                       ///< Over all rows of all pages; see `state_root`.

  friend bool operator==(const state_page&, const state_page&) = default;
};

inline constexpr std::size_t state_page_bytes = 512 << 10;

/// The digest of a whole state: keys and values in order.
class state_root {
public:
  void add(const stored_row& row) { all_.add_field(row.key).add_field(row.value); }
  digest finish() { return all_.finish(); }

private:
  hasher all_{"assay state v1"};
};

class peer_sender {
public:
  virtual ~peer_sender() = default;

  /// To `what.to`, on the lane of consensus, which bulk must not delay. LOG WRITER thread: must not
  /// wait for the network; what does not fit is dropped.
  virtual void send(consensus::message what) = 0;

  /// To `what.to`, on the bulk lane. LOG WRITER thread and STATE DESK thread; the same otherwise.
  virtual void send(state_request what) = 0;
  virtual void send(state_page what) = 0;
};

} // namespace assay::store
