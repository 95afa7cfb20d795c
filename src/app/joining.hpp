#pragma once
// `assay host join TOKEN`, seen from the coordinator: the holder of an open token becomes a host by
// a record.

#include "src/fabric/hub.hpp"
#include "src/store/ledger_engine.hpp"

namespace assay::app {

/// Called on the hub's thread; the answer goes out when the record is on the ledger, or was
/// refused.
void answer_join(
  store::ledger_engine& engine, fabric::hub& hub, const fabric::join_request& request
);

} // namespace assay::app
