#pragma once
// Who carries what members of a group say to each other, and what they say besides consensus. A
// group of one has nobody.
//
// The carrier shows by its peers' keys who they are, keeps the order of one member's messages to
// another on each lane, and may lose any of them: whoever waits for an answer asks again.

#include "src/consensus/state_pages.hpp"
#include "src/consensus/values.hpp"
#include "src/store/rows.hpp"

namespace assay::store {

using consensus::state_page;
using consensus::state_request;

/// About so many of rows in one page, or one row that is larger.
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
