#pragma once
// Between the ledger's records of a move and what src/moves decides about it: rows in, records to
// propose out. Pure.

#include "src/ledger/tables.hpp"
#include "src/moves/advance.hpp"
#include "src/pool/view.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace assay::ledger {

/// What is known of the routes that one ingress runs.
struct ingress_runs {
  std::uint64_t node = 0; ///< The member whose ingress it is.
  std::string name;
  /// Of the newest record that it routes by; 0: it has no routes and serves nothing. Empty: it has
  /// said nothing to this leader.
  std::optional<std::uint64_t> seq;
  steady_time heard_at; ///< When it said so; of a silent one since when it could have.

  friend bool operator==(const ingress_runs&, const ingress_runs&) = default;
};

/// Every ingress of the members: our own node's and others' as they were heard, and those that have
/// said nothing since `began`.
std::vector<ingress_runs> ingresses_of(
  const tables& t, std::uint64_t own, const std::vector<ingress_runs>& heard, steady_time began
);

/// What MOVER knows from outside the tables.
struct moving_world {
  const std::map<pool_id, std::shared_ptr<const pool::pool_view>>& pools;
  const std::vector<ingress_runs>& ingresses;
  const std::map<move_id, moves::wish>& wishes;
  wall_ms now;
  steady_time steady_now;
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
