#include "src/store/ledger_engine.hpp"

#include "src/base/limits.hpp"
#include "src/base/uuid.hpp"
#include "src/consensus/configuration.hpp"
#include "src/store/applier.hpp"
#include "src/store/log_writer.hpp"
#include "src/store/moments.hpp"
#include "src/store/state_desk.hpp"

namespace assay::store {

namespace {

problem fresh_problem(const data_directory& directory) {
  return {
    problem_kind::not_found,
    "this data directory holds no ledger",
    directory.root().string(),
    "start with `assayd --standalone " + directory.root().string()
      + "` to make one, or give the directory of an existing one"};
}

problem used_problem(const data_directory& directory) {
  return {
    problem_kind::refused,
    "this data directory holds a ledger already",
    directory.root().string(),
    "start it without making a new one, or choose an empty directory"};
}

problem mismatch_problem(const data_directory& directory, const std::string& what) {
  return {
    problem_kind::refused,
    "raft/ and ledger/ do not belong together: " + what,
    directory.root().string(),
    damage_advice};
}

problem write_problem(const data_directory& directory, const write_failure& why) {
  if (why.is_disk_full)
    return disk_full_problem(why.text);
  return {
    problem_kind::unavailable,
    why.text,
    directory.root().string(),
    "check the disk, then make the directory anew"};
}

struct stores {
  std::unique_ptr<log_store> log;
  std::unique_ptr<state_store> state;
};

result<stores, problem>
open_stores(const data_directory& directory, const engine_options& options) {
  const auto map = options.map_bytes == 0 ? limits::map_bytes : options.map_bytes;
  auto log = log_store::open(directory.raft(), map);
  if (!log)
    return unexpected{log.error()};
  auto state = state_store::open(directory.ledger(), map);
  if (!state)
    return unexpected{state.error()};
  return stores{*std::move(log), *std::move(state)};
}

struct loaded_stores {
  stores open;
  log_store::contents log;
  state_store::mark state;
};

result<loaded_stores, problem>
load(const data_directory& directory, const engine_options& options) {
  auto open = open_stores(directory, options);
  if (!open)
    return unexpected{open.error()};
  auto log = open->log->load();
  if (!log)
    return unexpected{log.error()};
  auto state = open->state->load_mark();
  if (!state)
    return unexpected{state.error()};
  return loaded_stores{*std::move(open), *std::move(log), *std::move(state)};
}

std::optional<problem> judge(
  const data_directory& directory, const log_store::contents& log, const state_store::mark& state
) {
  if (log.disk_id.empty() && log.entries.empty() && state.index == 0)
    return fresh_problem(directory);
  if (log.disk_id != state.disk_id)
    return mismatch_problem(directory, "they carry different disk ids");
  const auto last = log.first_index + log.entries.size() - 1;
  // A crash between the two of a take-over leaves a state that is ahead of its log: see
  // docs/decisions/0011.
  if (state.index > last && state.index != state.fetched)
    return mismatch_problem(
      directory,
      "the state is at entry " + std::to_string(state.index) + ", the log ends at "
        + std::to_string(last)
    );
  if (state.index + 1 < log.first_index)
    return mismatch_problem(
      directory,
      "the state is at entry " + std::to_string(state.index) + ", the log begins at "
        + std::to_string(log.first_index)
    );
  return {};
}

result<std::unique_ptr<consensus::participant>, problem>
make_member(const engine_options& options, std::uint64_t run, const log_store& log) {
  consensus::participant_settings how;
  how.core.id = options.server_id;
  how.core.address = options.address;
  how.core.run = run;
  how.core.seed = static_cast<std::uint32_t>(options.server_id * 2'654'435'761U + run);
  how.trailing = options.trailing == 0 ? limits::log_trailing : options.trailing;
  how.core.election_timeout_ms = static_cast<std::uint32_t>(options.election_timeout.count());
  how.core.heartbeat_ms = static_cast<std::uint32_t>(options.heartbeat.count());
  if (options.peers == nullptr)
    how.tail_bytes = 0; // Nobody asks a group of one for entries again.
  return consensus::participant::make(how, log);
}

/// The first state of a directory, or its refusal when there is any already.
result<void, problem> found(
  const data_directory& directory,
  const engine_options& options,
  const consensus::hard_state& hard,
  const consensus::append& first
) {
  auto all = load(directory, options);
  if (!all)
    return unexpected{all.error()};
  if (!all->log.disk_id.empty() || !all->log.entries.empty() || all->state.index > 0)
    return unexpected{used_problem(directory)};
  // The log's identity comes last and with its first entry: without it there is nothing yet, and
  // founding may begin again.
  const auto id = to_text(new_uuid7());
  auto failed = all->open.state->write_identity(id);
  if (!failed)
    failed = all->open.log->found(id, hard, first);
  if (failed)
    return unexpected{write_problem(directory, *failed)};
  return {};
}

} // namespace

// -- parts --------------------------------------------------------------------------------------

/// In the order of construction; threads end before what they use.
struct ledger_engine::parts {
  parts(
    engine_options options,
    stores open,
    std::unique_ptr<state_machine> machine,
    std::unique_ptr<consensus::participant> member
  )
    : shared{std::move(options)}, log{std::move(open.log)}, state{std::move(open.state)},
      machine{std::move(machine)}, applying{shared, *state, *log, *this->machine},
      writing{shared, *log, *this->machine, applying, std::move(member)} {
    shared.on_awaited([this] { writing.nudge(); });
    if (shared.options().peers != nullptr)
      desk.emplace(*state, *shared.options().peers);
    if (shared.options().fault) {
      log->inject([this] { return shared.options().fault(commit_point::log); });
      state->inject([this] { return shared.options().fault(commit_point::state); });
    }
    if (const auto& room = shared.options().room) {
      log->limit([&room](auto end) { return room(commit_point::log, end); });
      state->limit([&room](auto end) { return room(commit_point::state, end); });
    }
  }

  engine_shared shared;
  std::unique_ptr<log_store> log;
  std::unique_ptr<state_store> state;
  std::unique_ptr<state_machine> machine;
  applier applying;
  log_writer writing;
  std::optional<state_desk> desk;
};

// -- first state --------------------------------------------------------------------------------

bool ledger_engine::is_bootstrapped(const data_directory& directory) {
  std::error_code ignored; // An unreadable folder is told apart by `open`.
  if (!std::filesystem::exists(directory.raft() / "data.mdb", ignored)
      && !std::filesystem::exists(directory.ledger() / "data.mdb", ignored))
    return false;
  // A process that died while it founded leaves files that hold nothing yet.
  engine_options smallest;
  smallest.map_bytes = 1 << 20; // LMDB takes what the file needs.
  auto open = open_stores(directory, smallest);
  auto log = open ? open->log->load() : result<log_store::contents, problem>{log_store::contents{}};
  auto state =
    open ? open->state->load_mark() : result<state_store::mark, problem>{state_store::mark{}};
  // What cannot be read is something: `open` will say what is wrong with it.
  return !open || !log || !state || !log->disk_id.empty() || state->index > 0;
}

result<void, problem>
ledger_engine::bootstrap(const data_directory& directory, const engine_options& options) {
  consensus::configuration alone{
    {options.server_id, options.address, consensus::member_role::voter}};
  return found(
    directory, options, {1, 0}, {1, {{1, consensus::entry_kind::change, consensus::encode(alone)}}}
  );
}

result<void, problem>
ledger_engine::prepare_to_join(const data_directory& directory, const engine_options& options) {
  return found(directory, options, {}, {1, {}});
}

bool ledger_engine::is_prepared_to_join(const data_directory& directory) {
  engine_options smallest;
  smallest.map_bytes = 1 << 20; // LMDB takes what the file needs.
  auto all = load(directory, smallest);
  return all && !all->log.disk_id.empty() && all->log.entries.empty() && !all->log.snapshot
         && all->state.index == 0;
}

result<std::string, problem> ledger_engine::disk_of(const data_directory& directory) {
  engine_options smallest;
  smallest.map_bytes = 1 << 20; // LMDB takes what the file needs.
  auto all = load(directory, smallest);
  if (!all)
    return unexpected{all.error()};
  if (all->log.disk_id.empty())
    return unexpected{fresh_problem(directory)};
  return all->log.disk_id;
}

// -- opening ------------------------------------------------------------------------------------

result<std::unique_ptr<ledger_engine>, problem> ledger_engine::open(
  const data_directory& directory, std::unique_ptr<state_machine> machine, engine_options options
) {
  if (!is_bootstrapped(directory))
    return unexpected{fresh_problem(directory)};
  auto loaded = load(directory, options);
  if (!loaded)
    return unexpected{loaded.error()};
  auto& [open, log, state] = *loaded;
  if (auto wrong = judge(directory, log, state))
    return unexpected{*wrong};
  for (const auto& prefix : machine->loaded_prefixes()) {
    auto read = open.state->load_rows(prefix, [&](std::string_view key, std::string_view value) {
      return machine->load(key, value);
    });
    if (!read)
      return unexpected{read.error()};
  }
  const auto run = log.run + 1;
  if (auto failed = open.log->write_run(run); failed && !failed->is_disk_full)
    return unexpected{write_problem(directory, *failed)};
  auto member = make_member(options, run, *open.log);
  if (!member)
    return unexpected{member.error()};

  auto all = std::make_unique<parts>(
    std::move(options), std::move(open), std::move(machine), *std::move(member)
  );
  all->applying.start(state);
  all->writing.start(std::move(log), state.index);
  all->shared.wait_until_begun();
  return std::unique_ptr<ledger_engine>{new ledger_engine{std::move(all)}};
}

ledger_engine::ledger_engine(std::unique_ptr<parts> all) : parts_{std::move(all)} {}

ledger_engine::~ledger_engine() {
  parts_->desk.reset();
  parts_->writing.stop();
  parts_->applying.stop();
}

// -- for callers --------------------------------------------------------------------------------

void ledger_engine::propose(proposal what, answered done) {
  if (what.bytes.size() > limits::proposal_bytes)
    return done(unexpected{problem{
      problem_kind::invalid,
      "the record has " + std::to_string(what.bytes.size()) + " bytes",
      "ledger",
      "at most " + std::to_string(limits::proposal_bytes)
        + " are allowed; put large content into a blob and name its digest"}});
  if (auto fault = parts_->shared.clock_fault(); !fault.empty())
    return done(unexpected{problem{
      problem_kind::unavailable,
      fault + "; nothing was changed",
      "ledger",
      "ask again in a second: another coordinator takes over, if one can"}});
  if (!parts_->shared.enter())
    return done(unexpected{problem{
      problem_kind::unavailable,
      std::to_string(limits::proposals_waiting)
        + " proposals are waiting already; nothing was "
          "changed",
      "ledger",
      "ask again in a second"}});
  parts_->writing.propose(std::move(what), std::move(done));
}

void ledger_engine::read_barrier(viewed done) {
  parts_->writing.read(std::move(done));
}

void ledger_engine::receive(consensus::message what) {
  parts_->writing.receive(std::move(what));
}

void ledger_engine::receive(state_request what) {
  if (parts_->desk)
    parts_->desk->ask(std::move(what));
}

void ledger_engine::receive(state_page what) {
  parts_->writing.receive(std::move(what));
}

void ledger_engine::change(consensus::membership_change how, decided done) {
  parts_->writing.order({std::move(how), std::move(done)});
}

void ledger_engine::transfer(std::uint64_t to, decided done) {
  parts_->writing.order({hand_over_to{to}, std::move(done)});
}

void ledger_engine::mend(decided done) {
  parts_->writing.order({mend_state{}, std::move(done)});
}

view_ptr ledger_engine::current() const {
  return parts_->shared.current();
}

void ledger_engine::trust_clock() {
  parts_->writing.trust_clock();
}

void ledger_engine::tell_clock_fault(const std::string& text) {
  parts_->shared.set_clock_fault(text);
}

void ledger_engine::tell_room_fault(const std::string& text) {
  parts_->shared.set_room_fault(text);
}

engine_status ledger_engine::status() const {
  auto out = parts_->shared.status();
  out.log_map_percent = parts_->log->map_percent();
  return out;
}

open_reads ledger_engine::readers() const {
  const auto state = parts_->state->disk();
  open_reads out{state->readers()};
  const auto newest = state->newest_txn();
  for (const auto& one : out.all)
    out.oldest_lag = std::max(out.oldest_lag, newest - std::min(newest, one.txn));
  std::ranges::copy(parts_->log->readers(), std::back_inserter(out.all));
  return out;
}

result<std::optional<std::string>, problem> ledger_engine::read_row(std::string_view key) const {
  return parts_->state->row(key);
}

result<std::vector<stored_row>, problem> ledger_engine::read_rows(const row_scan& what) const {
  return parts_->state->rows(what);
}

result<moment, problem> ledger_engine::read_moment(const row_taker& take) const {
  auto at = parts_->state->copy_of_now();
  return at ? copy_rows(**at, take) : result<moment, problem>{unexpected{at.error()}};
}

} // namespace assay::store
