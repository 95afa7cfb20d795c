#pragma once
// Who carries what members of a group say to each other. A group of one has nobody.
//
// The carrier shows by its peers' keys who they are, keeps the order of one member's messages to
// another, and may lose any of them: whoever waits for an answer asks again.

#include "src/consensus/values.hpp"

namespace assay::store {

class peer_sender {
public:
  virtual ~peer_sender() = default;

  /// To `what.to`, on the lane of consensus, which bulk must not delay. LOG WRITER thread: must not
  /// wait for the network; what does not fit is dropped.
  virtual void send(consensus::message what) = 0;
};

} // namespace assay::store
