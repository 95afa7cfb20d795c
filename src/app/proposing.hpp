#pragma once
// Proposals and linearizable reads for threads that may wait: start-up and the admin API's.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/ledger/record.hpp"
#include "src/ledger/tables.hpp"
#include "src/store/ledger_engine.hpp"

#include <memory>
#include <vector>

namespace assay::app {

/// Durable and applied, or why not; `unavailable` after `limits::proposal_patience`: the outcome is
/// then unknown, and the same record id may be proposed again.
result<store::receipt, problem>
propose_now(store::ledger_engine& engine, const ledger::record& what);

/// The same for several, handed over at once so that they share a commit; one answer each, in
/// order.
std::vector<result<store::receipt, problem>>
propose_all(store::ledger_engine& engine, const std::vector<ledger::record>& records);

/// Tables that contain everything that was answered before this call, and their seq.
struct read_tables {
  std::shared_ptr<const ledger::tables> tables;
  std::uint64_t seq = 0;
};
result<read_tables, problem> read_now(store::ledger_engine& engine);

std::shared_ptr<const ledger::tables> tables_of(const store::view& view);

} // namespace assay::app
