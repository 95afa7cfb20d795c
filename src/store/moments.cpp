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
    "check the disk and restore again"};
}

/// The state first and the log's identity last: a restore is whole when both have one identity.
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

struct both {
  std::unique_ptr<log_store> log;
  std::unique_ptr<state_store> state;
};

result<both, problem> open_both(const data_directory& directory, std::uint64_t map_bytes) {
  auto log = log_store::open(directory.raft(), map_bytes);
  if (!log)
    return unexpected{log.error()};
  auto state = state_store::open(directory.ledger(), map_bytes);
  if (!state)
    return unexpected{state.error()};
  return both{*std::move(log), *std::move(state)};
}

enum class held : std::uint8_t { nothing, restored, ledger };

/// An engine counts its runs, and a state that nobody fetched was applied by one.
result<held, problem> look(const both& open) {
  auto log = open.log->load();
  if (!log)
    return unexpected{log.error()};
  auto state = open.state->load_mark();
  if (!state)
    return unexpected{state.error()};
  if (log->run > 0 || !log->entries.empty() || state->index != state->fetched)
    return held::ledger;
  return state->index > 0 || log->snapshot ? held::restored : held::nothing;
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
  auto open = open_both(directory, options.map_bytes == 0 ? limits::map_bytes : options.map_bytes);
  if (!open)
    return unexpected{open.error()};
  auto is = look(*open);
  if (!is)
    return unexpected{is.error()};
  if (*is == held::ledger)
    return unexpected{problem{
      problem_kind::refused,
      "this data directory holds a ledger already",
      directory.root().string(),
      "restore into an empty directory"}};
  auto& [log, state] = *open;
  if (options.fault) {
    log->inject([&options] { return options.fault(commit_point::log); });
    state->inject([&options] { return options.fault(commit_point::state); });
  }
  if (auto failed = state->clear_incoming())
    return unexpected{written_badly(directory, *failed)};
  auto at = source([&](const std::vector<stored_row>& rows) -> result<void, problem> {
    if (auto failed = state->write_incoming(rows))
      return unexpected{written_badly(directory, *failed)};
    return {};
  });
  if (!at)
    return unexpected{at.error()};
  if (auto failed = put_in_force(*log, *state, *at, options))
    return unexpected{written_badly(directory, *failed)};
  return {};
}

bool holds_a_restore(const data_directory& directory) {
  std::error_code ignored; // An unreadable folder is told apart when it is opened.
  if (!std::filesystem::exists(directory.ledger() / "data.mdb", ignored))
    return false;
  auto open = open_both(directory, 1 << 20); // LMDB takes what the file needs.
  auto is = open ? look(*open) : result<held, problem>{unexpected{open.error()}};
  return is && *is == held::restored;
}

} // namespace assay::store
