#include "src/store/state_store.hpp"

#include "src/base/check.hpp"
#include "src/base/limits.hpp"

#include <chrono>
#include <cstring>

namespace assay::store {

namespace {

constexpr std::size_t rows_db = 0, meta_db = 1;
constexpr std::string_view applied_key = "applied", identity_key = "disk";

int put(MDB_txn* txn, MDB_dbi db, std::string_view key, std::string_view value) {
  auto k = to_lmdb(key), v = to_lmdb(value);
  return mdb_put(txn, db, &k, &v, 0);
}

int remove(MDB_txn* txn, MDB_dbi db, std::string_view key) {
  auto k = to_lmdb(key);
  int code = mdb_del(txn, db, &k, nullptr);
  return code == MDB_NOTFOUND ? 0 : code;
}

/// The first key after every key that starts with `prefix`; empty when there is none.
std::string behind(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff')
    prefix.pop_back();
  if (!prefix.empty())
    prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

/// Puts the cursor on the scan's first row; false when there is none.
int go_to_first(MDB_cursor* cursor, const row_scan& what, MDB_val& key, MDB_val& value) {
  if (!what.is_downwards) {
    auto& first = what.from.empty() ? what.prefix : what.from;
    if (first.empty())
      return mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    key = to_lmdb(first);
    return mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
  }
  auto limit = what.from.empty() ? behind(what.prefix) : what.from;
  if (limit.empty())
    return mdb_cursor_get(cursor, &key, &value, MDB_LAST);
  key = to_lmdb(limit);
  int code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
  if (code == 0 && !what.from.empty() && from_lmdb(key) == what.from)
    return 0;
  // At the first key behind what is wanted, or behind the last key of all.
  return mdb_cursor_get(cursor, &key, &value, code == 0 ? MDB_PREV : MDB_LAST);
}

int copy_out(MDB_cursor* cursor, const row_scan& what, std::vector<stored_row>& into) {
  const auto until = std::chrono::steady_clock::now() + limits::reader_age;
  MDB_val key, value;
  std::size_t bytes = 0;
  int code = go_to_first(cursor, what, key, value);
  while (code == 0 && into.size() < what.count) {
    if (!from_lmdb(key).starts_with(what.prefix))
      return 0;
    into.push_back({std::string{from_lmdb(key)}, std::string{from_lmdb(value)}});
    bytes += key.mv_size + value.mv_size;
    if (bytes >= limits::page_bytes || std::chrono::steady_clock::now() >= until)
      return 0;
    code = mdb_cursor_get(cursor, &key, &value, what.is_downwards ? MDB_PREV : MDB_NEXT);
  }
  return code == MDB_NOTFOUND ? 0 : code;
}

} // namespace

result<std::unique_ptr<state_store>, problem>
state_store::open(const std::filesystem::path& folder, std::uint64_t map_bytes) {
  auto env = environment::open(folder, map_bytes, {{"rows", 0}, {"meta", 0}});
  if (!env)
    return unexpected{env.error()};
  return std::unique_ptr<state_store>{new state_store{*std::move(env)}};
}

result<state_store::mark, problem> state_store::load_mark() const {
  mark out;
  auto done = environment_->read([&](MDB_txn* txn) {
    auto k = to_lmdb(applied_key);
    MDB_val v;
    if (mdb_get(txn, environment_->dbi(meta_db), &k, &v) == 0 && v.mv_size == 16) {
      std::memcpy(&out.index, v.mv_data, 8);
      std::memcpy(&out.term, static_cast<const char*>(v.mv_data) + 8, 8);
    }
    k = to_lmdb(identity_key);
    if (mdb_get(txn, environment_->dbi(meta_db), &k, &v) == 0)
      out.disk_id = from_lmdb(v);
    return 0;
  });
  if (!done)
    return unexpected{done.error()};
  return out;
}

result<void, problem> state_store::load_rows(
  std::string_view prefix,
  const std::function<result<void, problem>(std::string_view, std::string_view)>& take
) const {
  result<void, problem> taken;
  auto done = environment_->read([&](MDB_txn* txn) {
    MDB_cursor* cursor = nullptr;
    int code = mdb_cursor_open(txn, environment_->dbi(rows_db), &cursor);
    if (code != 0)
      return code;
    MDB_val key, value;
    code = go_to_first(cursor, {.prefix = std::string{prefix}}, key, value);
    while (taken && code == 0 && from_lmdb(key).starts_with(prefix)) {
      taken = take(from_lmdb(key), from_lmdb(value));
      code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    return code == MDB_NOTFOUND ? 0 : code;
  });
  return taken ? done : taken;
}

std::optional<write_failure>
state_store::write(const row_changes& rows, std::uint64_t index, std::uint64_t term) {
  std::uint64_t bytes = 64;
  for (const auto& [key, value] : rows)
    bytes += key.size() + (value ? value->size() : 0) + 64;
  return environment_->write(bytes, [&](MDB_txn* txn) {
    int code = 0;
    for (const auto& [key, value] : rows) {
      code = value ? put(txn, environment_->dbi(rows_db), key, *value)
                   : remove(txn, environment_->dbi(rows_db), key);
      if (code != 0)
        return code;
    }
    // In the transaction of the rows: an index saved without its rows would lose them for ever.
    char applied[16];
    std::memcpy(applied, &index, 8);
    std::memcpy(applied + 8, &term, 8);
    return put(txn, environment_->dbi(meta_db), applied_key, {applied, sizeof applied});
  });
}

std::optional<write_failure> state_store::write_identity(std::string_view disk_id) {
  return environment_->write(4096, [&](MDB_txn* txn) {
    return put(txn, environment_->dbi(meta_db), identity_key, disk_id);
  });
}

result<std::optional<std::string>, problem> state_store::row(std::string_view key) const {
  std::optional<std::string> out;
  if (key.empty() || key.size() > limits::key_bytes)
    return out;
  auto done = environment_->read([&](MDB_txn* txn) {
    auto k = to_lmdb(key);
    MDB_val v;
    int code = mdb_get(txn, environment_->dbi(rows_db), &k, &v);
    if (code == 0)
      out = from_lmdb(v);
    return code == MDB_NOTFOUND ? 0 : code;
  });
  if (!done)
    return unexpected{done.error()};
  return out;
}

result<std::vector<stored_row>, problem> state_store::rows(const row_scan& what) const {
  std::vector<stored_row> out;
  auto done = environment_->read([&](MDB_txn* txn) {
    MDB_cursor* cursor = nullptr;
    int code = mdb_cursor_open(txn, environment_->dbi(rows_db), &cursor);
    if (code != 0)
      return code;
    code = copy_out(cursor, what, out);
    mdb_cursor_close(cursor);
    return code;
  });
  if (!done)
    return unexpected{done.error()};
  return out;
}

} // namespace assay::store
