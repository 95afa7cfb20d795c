#include "src/store/log_store.hpp"

#include "src/base/check.hpp"
#include "src/consensus/configuration.hpp"

#include <cstring>

namespace assay::store {

namespace {

using consensus::entry;
using consensus::entry_kind;

// Databases, in the order they are opened.
constexpr std::size_t entries_db = 0, meta_db = 1;

constexpr std::string_view hard_key = "hard", snapshot_key = "snapshot", identity_key = "disk",
                           run_key = "run";

// An entry's value: term, kind, bytes.
constexpr std::size_t entry_head = 9;

void put_number(std::string& out, std::uint64_t number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::uint64_t take_number(std::string_view& from) {
  std::uint64_t number = 0;
  if (from.size() >= sizeof number) {
    std::memcpy(&number, from.data(), sizeof number);
    from.remove_prefix(sizeof number);
  }
  return number;
}

std::string to_value(const entry& e) {
  std::string out;
  out.reserve(entry_head + e.bytes.size());
  put_number(out, e.term);
  out.push_back(static_cast<char>(e.kind));
  out += e.bytes;
  return out;
}

entry to_entry(std::string_view value, bool is_whole) {
  entry out;
  out.term = take_number(value);
  out.kind = static_cast<entry_kind>(value.empty() ? 0 : value.front());
  if (!value.empty())
    value.remove_prefix(1);
  if (is_whole || out.kind == entry_kind::change)
    out.bytes = value;
  return out;
}

std::string to_value(const consensus::hard_state& hard) {
  std::string out;
  put_number(out, hard.term);
  put_number(out, hard.vote);
  return out;
}

std::string to_value(const consensus::snapshot_mark& mark) {
  std::string out;
  put_number(out, mark.index);
  put_number(out, mark.term);
  put_number(out, mark.configuration_index);
  return out + consensus::encode(mark.configuration);
}

std::optional<consensus::snapshot_mark> to_mark(std::string_view value) {
  consensus::snapshot_mark out;
  out.index = take_number(value);
  out.term = take_number(value);
  out.configuration_index = take_number(value);
  auto members = consensus::decode_configuration(value);
  if (!members)
    return {};
  out.configuration = *members;
  return out;
}

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

} // namespace

result<std::unique_ptr<log_store>, problem>
log_store::open(const std::filesystem::path& folder, std::uint64_t map_bytes) {
  auto env = environment::open(folder, map_bytes, {{"entries", MDB_INTEGERKEY}, {"meta", 0}});
  if (!env)
    return unexpected{env.error()};
  return std::unique_ptr<log_store>{new log_store{*std::move(env)}};
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
  if (is_damaged)
    return unexpected{problem{
      problem_kind::refused,
      "the log has a gap or a damaged compaction mark",
      "raft/",
      "restore the data directory from a backup; nothing was changed"}};
  return out;
}

std::optional<write_failure> log_store::write(
  const std::optional<consensus::hard_state>& hard, const std::vector<consensus::append>& appends
) {
  std::uint64_t bytes = 64;
  for (const auto& a : appends)
    for (const auto& e : a.entries)
      bytes += e.bytes.size() + 64;
  return environment_->write(bytes, [&](MDB_txn* txn) {
    int code = 0;
    if (hard)
      code = put(txn, environment_->dbi(meta_db), hard_key, to_value(*hard));
    for (const auto& a : appends)
      if (code == 0)
        code = append_all(txn, environment_->dbi(entries_db), a);
    return code;
  });
}

std::optional<write_failure>
log_store::compact(const consensus::snapshot_mark& mark, std::uint64_t first_kept) {
  return environment_->write(4096, [&](MDB_txn* txn) {
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
  return environment_->write(4096, [&](MDB_txn* txn) {
    int code = put(txn, environment_->dbi(meta_db), identity_key, disk_id);
    if (code == 0)
      code = put(txn, environment_->dbi(meta_db), hard_key, to_value(hard));
    if (code == 0)
      code = append_all(txn, environment_->dbi(entries_db), first);
    return code;
  });
}

std::optional<write_failure> log_store::write_run(std::uint64_t run) {
  return environment_->write(4096, [&](MDB_txn* txn) {
    std::string value;
    put_number(value, run);
    return put(txn, environment_->dbi(meta_db), run_key, value);
  });
}

result<entry, problem> log_store::entry_at(std::uint64_t index) const {
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
