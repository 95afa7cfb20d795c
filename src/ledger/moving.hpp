#pragma once
// Between the ledger's records of a move and what src/moves decides about it: rows in, records to
// propose out. Pure.

#include "src/ledger/tables.hpp"
#include "src/moves/advance.hpp"
#include "src/pool/view.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace assay::ledger {

/// What MOVER knows from outside the tables.
struct moving_world {
  const std::map<pool_id, std::shared_ptr<const pool::pool_view>>& pools;
  const std::map<model_id, std::uint64_t>& acknowledged; ///< By every required ingress.
  const std::map<move_id, moves::wish>& wishes;
  wall_ms now;
};

/// The route as it is; generation 0 when the model has none yet.
moves::route route_of(const tables& t, const model_id& model);

/// The plan as a proposal, with a policy frozen by its digest.
move_proposed
proposal_of(const tables& t, const move_id& id, const moves::plan& plan, const std::string& cause);

/// The plan that a proposal holds.
moves::plan plan_of(const move_proposed& p);

/// Implementations of the model that may carry traffic now: approved and qualified, or waived.
std::vector<implementation_id> usable_for(const tables& t, const model_id& model, wall_ms now);

/// What `advance` is asked about an open move.
moves::open_move open_move_of(const move_row& row);
moves::observed observe(const tables& t, const move_row& row, const moving_world& world);

/// The record of one event.
payload record_of(
  const tables& t, const move_row& row, const moves::propose& what, const moving_world& world
);

/// Records that time alone calls for: qualifications and waivers whose hour has come.
std::vector<payload> due_records(const tables& t, wall_ms now);

} // namespace assay::ledger
