#pragma once
// The whole state of one moment: copied out for a backup, and put into an empty directory from one.
//
// Copying reads one transaction in pages and holds nothing up but the reuse of that moment's disk
// pages. What is put in is in force whole or not at all.

#include "src/store/ledger_engine.hpp"
#include "src/store/state_store.hpp"

#include <functional>

namespace assay::store {

/// Every row in the order of keys, until `take` reports a problem.
result<moment, problem> copy_rows(const state_store::copy& from, const row_taker& take);

/// Hands over all rows to a `row_taker`, checks them, and says of which moment they are.
using row_source = std::function<result<moment, problem>(const row_taker& take)>;

/// Makes a directory that goes on behind a moment as a group of one: `options.server_id`, an id
/// that the group before never used. Refused where there is a ledger. Whatever cuts it, it may be
/// called again until an engine was opened on the directory.
result<void, problem>
restore(const data_directory& directory, const engine_options& options, const row_source& source);

/// What a restore has left that nobody has opened yet, whole or not; neither a directory without
/// state nor one whose ledger has run.
bool holds_a_restore(const data_directory& directory);

} // namespace assay::store
