#include "src/store/log_store.hpp"

#include "src/consensus/configuration.hpp"
#include "src/store/log_values.hpp"

#include <cstring>

namespace assay::store {

namespace {

using consensus::entry;
using consensus::entry_kind;

// Databases, in the order they are opened.
constexpr std::size_t entries_db = 0, meta_db = 1;

constexpr std::string_view hard_key = "hard", snapshot_key = "snapshot", identity_key = "disk",
                           run_key = "run",
                           journal_key = "journal"; ///< The newest frame that is in here too.

/// Points at the number, which must live as long as the key.
MDB_val key_of(std::uint64_t& index) {
  return {sizeof index, &index};
}

int put(MDB_txn* txn, MDB_dbi db, std::string_view key, std::string_view value) {
  auto k = to_lmdb(key), v = to_lmdb(value);
  return mdb_put(txn, db, &k, &v, 0);
}

std::string get(MDB_txn* txn, MDB_dbi db, std::string_view key) {
  auto k = to_lmdb(key);
  MDB_val v;
  return mdb_get(txn, db, &k, &v) == 0 ? std::string{from_lmdb(v)} : std::string{};
}

/// Deletes the entries in [from, to), those that are there.
int erase(MDB_txn* txn, MDB_dbi db, std::uint64_t from, std::uint64_t to) {
  MDB_cursor* cursor = nullptr;
  int code = mdb_cursor_open(txn, db, &cursor);
  if (code != 0)
    return code;
  auto key = key_of(from);
  MDB_val value;
  code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
  while (code == 0) {
    std::uint64_t index = 0;
    std::memcpy(&index, key.mv_data, sizeof index);
    if (index >= to)
      break;
    code = mdb_cursor_del(cursor, 0);
    if (code == 0)
      code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
  }
  mdb_cursor_close(cursor);
  return code == MDB_NOTFOUND ? 0 : code;
}

int append_all(MDB_txn* txn, MDB_dbi db, const consensus::append& what) {
  int code = erase(txn, db, what.index, UINT64_MAX);
  auto index = what.index;
  for (const auto& e : what.entries) {
    if (code != 0)
      break;
    auto value = to_value(e);
    auto k = key_of(index);
    auto v = to_lmdb(value);
    code = mdb_put(txn, db, &k, &v, MDB_APPEND);
    ++index;
  }
  return code;
}

int load_entries(MDB_txn* txn, MDB_dbi db, log_store::contents& into, bool& has_gap) {
  MDB_cursor* cursor = nullptr;
  int code = mdb_cursor_open(txn, db, &cursor);
  if (code != 0)
    return code;
  MDB_val key, value;
  auto next = into.first_index;
  while ((code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
    std::uint64_t index = 0;
    std::memcpy(&index, key.mv_data, sizeof index);
    if (into.entries.empty())
      into.first_index = next = index;
    has_gap |= index != next++;
    into.entries.push_back(to_entry(from_lmdb(value), false));
  }
  mdb_cursor_close(cursor);
  return code == MDB_NOTFOUND ? 0 : code;
}

problem torn_frame() {
  return {
    problem_kind::refused,
    "the journal holds entries that do not follow each other",
    "raft/journal",
    damage_advice};
}

} // namespace

// -- opening ------------------------------------------------------------------------------------

result<std::unique_ptr<log_store>, problem>
log_store::open(const std::filesystem::path& folder, std::uint64_t map_bytes) {
  auto env = environment::open(folder, map_bytes, {{"entries", MDB_INTEGERKEY}, {"meta", 0}});
  if (!env)
    return unexpected{env.error()};
  std::unique_ptr<log_store> out{new log_store{folder, *std::move(env)}};
  if (auto fine = out->open_journal(); !fine)
    return unexpected{fine.error()};
  return out;
}

result<void, problem> log_store::open_journal() {
  std::string mark;
  auto read = environment_->read([&](MDB_txn* txn) {
    mark = get(txn, environment_->dbi(meta_db), journal_key);
    return 0;
  });
  if (!read)
    return unexpected{read.error()};
  if (mark.empty())
    return {}; // It is made with the first write.
  std::string_view rest = mark;
  auto frames = journal_.open(take_number(rest));
  if (!frames)
    return unexpected{frames.error()};
  for (const auto& one : *frames)
    if (!unsettled_.take_up(one))
      return unexpected{torn_frame()};
  return {};
}

std::optional<write_failure> log_store::make_journal() {
  if (auto failed = journal_.make(0))
    return failed;
  auto failed = environment_->write(4'096, [&](MDB_txn* txn) {
    return put(txn, environment_->dbi(meta_db), journal_key, to_value(std::uint64_t{0}));
  });
  if (failed) // Without its mark nobody would read it at the next start.
    journal_.give_up();
  return failed;
}

/// Everything goes into the environment, and the journal begins again.
std::optional<write_failure> log_store::settle() {
  if (unsettled_.is_empty())
    return {};
  auto failed = environment_->write(unsettled_.bytes(), [&](MDB_txn* txn) {
    int code = put(txn, environment_->dbi(meta_db), journal_key, to_value(journal_.last()));
    if (code == 0)
      code = put_hard(txn, unsettled_.hard());
    if (code == 0 && unsettled_.entries())
      code = append_all(txn, environment_->dbi(entries_db), *unsettled_.entries());
    return code;
  });
  if (failed)
    return failed;
  journal_.restart();
  std::lock_guard hold{mutex_};
  unsettled_ = {};
  return {};
}

result<log_store::contents, problem> log_store::load() const {
  contents out;
  bool is_damaged = false;
  auto meta = environment_->dbi(meta_db);
  auto done = environment_->read([&](MDB_txn* txn) {
    auto hard = get(txn, meta, hard_key);
    std::string_view rest = hard;
    out.hard = {take_number(rest), take_number(rest)};
    if (auto snapshot = get(txn, meta, snapshot_key); !snapshot.empty()) {
      out.snapshot = to_mark(snapshot);
      is_damaged |= !out.snapshot;
    }
    out.disk_id = get(txn, meta, identity_key);
    auto run = get(txn, meta, run_key);
    rest = run;
    out.run = take_number(rest);
    out.first_index = out.snapshot ? out.snapshot->index + 1 : 1;
    return load_entries(txn, environment_->dbi(entries_db), out, is_damaged);
  });
  if (!done)
    return unexpected{done.error()};
  std::lock_guard hold{mutex_};
  out.hard = unsettled_.hard().value_or(out.hard);
  is_damaged |= !unsettled_.lay_over(out.first_index, out.entries);
  if (is_damaged)
    return unexpected{problem{
      problem_kind::refused,
      "the log has a gap or a damaged compaction mark",
      "raft/",
      damage_advice}};
  return out;
}

// -- writing ------------------------------------------------------------------------------------

std::optional<write_failure> log_store::write(
  const std::optional<consensus::hard_state>& hard, const std::vector<consensus::append>& appends
) {
  if (!hard && appends.empty())
    return {};
  const auto frame = to_frame(hard, appends);
  if (auto failed = make_room(frame.size()))
    return failed;
  if (auto failed = reserve(bytes_of(appends)))
    return failed;
  if (!journal_.fits(frame.size()))
    return write_large(hard, appends);
  if (auto failed = journal_.append(frame))
    return failed;
  std::lock_guard hold{mutex_};
  unsettled_.add(hard, appends);
  return {};
}

/// What no journal holds goes into the environment at once; nothing is unsettled then.
std::optional<write_failure> log_store::write_large(
  const std::optional<consensus::hard_state>& hard, const std::vector<consensus::append>& appends
) {
  return change(bytes_of(appends), [&](MDB_txn* txn) {
    int code = put_hard(txn, hard);
    for (const auto& a : appends)
      if (code == 0)
        code = append_all(txn, environment_->dbi(entries_db), a);
    return code;
  });
}

int log_store::put_hard(MDB_txn* txn, const std::optional<consensus::hard_state>& hard) const {
  return hard ? put(txn, environment_->dbi(meta_db), hard_key, to_value(*hard)) : 0;
}

std::optional<write_failure>
log_store::change(std::uint64_t bytes, const std::function<int(MDB_txn*)>& fill) {
  if (auto failed = settle())
    return failed;
  return environment_->write(bytes, fill);
}

std::optional<write_failure> log_store::reserve(std::uint64_t bytes) {
  return environment_->reserve(unsettled_.bytes() + bytes);
}

std::uint32_t log_store::map_percent() const {
  std::unique_lock hold{mutex_};
  const auto pending = unsettled_.bytes();
  hold.unlock();
  return environment_->map_percent(pending);
}

void log_store::inject(const std::function<int()>& fault) {
  environment_->inject(fault);
  journal_.inject(fault);
}

std::optional<write_failure> log_store::make_room(std::size_t frame_bytes) {
  if (!journal_.is_open())
    if (auto failed = make_journal())
      return failed;
  if (journal_.fits(frame_bytes))
    return {};
  return settle();
}

std::optional<write_failure>
log_store::compact(const consensus::snapshot_mark& mark, std::uint64_t first_kept) {
  return change(4'096, [&](MDB_txn* txn) {
    int code = put(txn, environment_->dbi(meta_db), snapshot_key, to_value(mark));
    if (code == 0)
      code = erase(txn, environment_->dbi(entries_db), 0, first_kept);
    return code;
  });
}

std::optional<write_failure> log_store::replace(const consensus::snapshot_mark& mark) {
  return compact(mark, UINT64_MAX);
}

std::optional<write_failure> log_store::found(
  std::string_view disk_id, const consensus::hard_state& hard, const consensus::append& first
) {
  return change(4'096, [&](MDB_txn* txn) {
    int code = put(txn, environment_->dbi(meta_db), identity_key, disk_id);
    if (code == 0)
      code = put(txn, environment_->dbi(meta_db), hard_key, to_value(hard));
    if (code == 0)
      code = append_all(txn, environment_->dbi(entries_db), first);
    return code;
  });
}

std::optional<write_failure> log_store::write_run(std::uint64_t run) {
  return change(4'096, [&](MDB_txn* txn) {
    return put(txn, environment_->dbi(meta_db), run_key, to_value(run));
  });
}

result<entry, problem> log_store::entry_at(std::uint64_t index) const {
  {
    std::lock_guard hold{mutex_};
    if (const auto* found = unsettled_.at(index))
      return *found;
    if (unsettled_.is_behind(index))
      return unexpected{environment_->read([](MDB_txn*) { return MDB_NOTFOUND; }).error()};
  }
  entry out;
  auto done = environment_->read([&](MDB_txn* txn) {
    auto k = key_of(index);
    MDB_val v;
    int code = mdb_get(txn, environment_->dbi(entries_db), &k, &v);
    if (code == 0)
      out = to_entry(from_lmdb(v), true);
    return code;
  });
  if (!done)
    return unexpected{done.error()};
  return out;
}

std::optional<entry> log_store::at(std::uint64_t index) const {
  auto found = entry_at(index);
  if (!found)
    return {};
  return *std::move(found);
}

} // namespace assay::store
