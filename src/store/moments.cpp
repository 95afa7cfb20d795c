#include "src/store/moments.hpp"

#include "src/base/limits.hpp"
#include "src/base/uuid.hpp"
#include "src/store/engine_shared.hpp"
#include "src/store/log_store.hpp"

namespace assay::store {

namespace {

problem written_badly(const data_directory& directory, const write_failure& why) {
  if (why.is_disk_full)
    return disk_full_problem(why.text);
  return {
    problem_kind::unavailable,
    why.text,
    directory.root().string(),
    "check the disk, empty the directory, and restore again"};
}

/// The state first and the log's identity last: without it the directory holds nothing yet.
std::optional<write_failure>
put_in_force(log_store& log, state_store& state, const moment& at, const engine_options& options) {
  const auto id = to_text(new_uuid7());
  consensus::configuration alone{
    {options.server_id, options.address, consensus::member_role::voter}};
  auto failed = state.write_identity(id);
  if (!failed)
    failed = log.replace({at.index, at.term, at.index, alone});
  if (!failed)
    failed = state.adopt_incoming(at.index, at.term);
  if (!failed)
    failed = log.found(id, {at.term, 0}, {at.index + 1, {}});
  return failed;
}

} // namespace

result<moment, problem> copy_rows(const state_store::copy& from, const row_taker& take) {
  std::string after;
  for (;;) {
    auto rows = from.page(after, state_page_bytes);
    if (!rows)
      return unexpected{rows.error()};
    if (rows->empty())
      return moment{from.index(), from.term()};
    if (auto done = take(*rows); !done)
      return unexpected{done.error()};
    after = rows->back().key;
  }
}

result<void, problem>
restore(const data_directory& directory, const engine_options& options, const row_source& source) {
  if (ledger_engine::is_bootstrapped(directory))
    return unexpected{problem{
      problem_kind::refused,
      "this data directory holds a ledger already",
      directory.root().string(),
      "restore into an empty directory"}};
  const auto map = options.map_bytes == 0 ? limits::map_bytes : options.map_bytes;
  auto log = log_store::open(directory.raft(), map);
  if (!log)
    return unexpected{log.error()};
  auto state = state_store::open(directory.ledger(), map);
  if (!state)
    return unexpected{state.error()};
  if (auto failed = (*state)->clear_incoming())
    return unexpected{written_badly(directory, *failed)};
  auto at = source([&](const std::vector<stored_row>& rows) -> result<void, problem> {
    if (auto failed = (*state)->write_incoming(rows))
      return unexpected{written_badly(directory, *failed)};
    return {};
  });
  if (!at)
    return unexpected{at.error()};
  if (auto failed = put_in_force(**log, **state, *at, options))
    return unexpected{written_badly(directory, *failed)};
  return {};
}

} // namespace assay::store
