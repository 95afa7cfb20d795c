#pragma once
// What both halves of a move's rules ask: apply_move_plans.cpp until it is authorised,
// apply_moves.cpp from then on. Nobody else includes this.

#include "src/ledger/changes.hpp"
#include "src/ledger/status.hpp"

namespace assay::ledger {

std::uint64_t generation_of(const tables& t, const model_id& model);
moves::vectors carried_by_route(const tables& t, const model_id& model);

/// The move's row as of this record, in `to`.
void put_moved(change_set& c, move_row next, moves::state to);

refusal not_allowed(const move_row& m, std::string_view what);
refusal unknown_move(const move_id& id);

/// I7: nothing carries traffic without evidence.
ruling unproven(const change_set& c, const moves::vectors& v);

/// Everything in it may carry, now or until a superseded qualification expires.
bool is_way_back(const change_set& c, const moves::vectors& v);

/// Shares that add up, of implementations of the model.
ruling bad_vectors(const change_set& c, const model_id& model, const moves::vectors& v);

} // namespace assay::ledger
