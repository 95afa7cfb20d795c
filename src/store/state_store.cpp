#include "src/store/state_store.hpp"

#include "src/base/limits.hpp"
#include "src/store/fault_guard.hpp"
#include "src/store/state_files.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace assay::store {

namespace {

/// Beside the place of the last one the tree is not searched anew.
int put(MDB_cursor* cursor, std::string_view key, std::string_view value) {
  auto k = to_lmdb(key), v = to_lmdb(value);
  return mdb_cursor_put(cursor, &k, &v, 0);
}

int remove(MDB_txn* txn, MDB_dbi db, std::string_view key) {
  auto k = to_lmdb(key);
  int code = mdb_del(txn, db, &k, nullptr);
  return code == MDB_NOTFOUND ? 0 : code;
}

std::vector<const state_store::row_changes::value_type*>
in_key_order(const state_store::row_changes& rows) {
  std::vector<const state_store::row_changes::value_type*> out;
  out.reserve(rows.size());
  for (const auto& row : rows)
    out.push_back(&row);
  std::ranges::sort(out, {}, [](const auto* row) -> std::string_view { return row->first; });
  return out;
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
  std::error_code ignored; // What a crash left there is in nobody's way.
  std::filesystem::remove_all(folder / state_files::incoming, ignored);
  auto open = state_files::open(folder, map_bytes);
  if (!open)
    return unexpected{open.error()};
  return std::unique_ptr<state_store>{new state_store{folder, map_bytes, *std::move(open)}};
}

state_store::state_store(
  std::filesystem::path folder, std::uint64_t map_bytes, std::shared_ptr<state_files> open
)
  : folder_{std::move(folder)}, map_bytes_{map_bytes}, in_force_{std::move(open)} {
  if (auto mark = load_mark()) // Asked again by whoever opens, and told then.
    disk_id_ = mark->disk_id;
}

std::shared_ptr<state_files> state_store::in_force() const {
  std::lock_guard hold{mutex_};
  return in_force_;
}

std::shared_ptr<environment> state_store::disk() const {
  auto now = in_force();
  return {now, now->disk.get()};
}

void state_store::inject(std::function<int()> fault) {
  fault_ = std::move(fault);
  for (const auto& one : {in_force(), incoming_})
    if (one)
      spoil(*one->disk);
}

void state_store::limit(std::function<bool(std::uint64_t)> has_room) {
  has_room_ = std::move(has_room);
  for (const auto& one : {in_force(), incoming_})
    if (one)
      spoil(*one->disk);
}

void state_store::spoil(environment& which) const {
  which.inject(fault_);
  which.limit(has_room_);
}

result<void, problem> state_store::look(const std::function<int(MDB_txn*, MDB_dbi)>& at_rows
) const {
  const auto now = in_force();
  return now->disk->read([&](MDB_txn* txn) { return at_rows(txn, now->rows); });
}

result<state_store::mark, problem> state_store::load_mark() const {
  mark out;
  const auto now = in_force();
  auto done = now->disk->read([&](MDB_txn* txn) {
    const auto applied = get_applied(txn, now->meta());
    out.index = applied.index;
    out.term = applied.term;
    out.fetched = get_fetched(txn, now->meta());
    out.disk_id = get_disk_id(txn, now->meta());
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
  auto done = look([&](MDB_txn* txn, MDB_dbi rows) {
    MDB_cursor* cursor = nullptr;
    int code = mdb_cursor_open(txn, rows, &cursor);
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
  const auto sorted = in_key_order(rows);
  std::uint64_t bytes = 64;
  for (const auto& [key, value] : rows)
    bytes += key.size() + (value ? value->size() : 0) + 64;
  const auto now = in_force();
  return now->disk->write(bytes, [&](MDB_txn* txn) {
    const auto into = now->rows;
    MDB_cursor* cursor = nullptr;
    int code = mdb_cursor_open(txn, into, &cursor);
    for (auto at = sorted.begin(); code == 0 && at != sorted.end(); ++at) {
      const auto& [key, value] = **at;
      code = value ? put(cursor, key, *value) : remove(txn, into, key);
    }
    if (cursor != nullptr)
      mdb_cursor_close(cursor);
    return code == 0 ? put_applied(txn, now->meta(), {index, term}) : code;
  });
}

result<std::unique_ptr<state_store::copy>, problem> state_store::copy_of_now() const {
  auto out = std::make_unique<copy>();
  const auto now = in_force();
  auto at = now->disk->hold();
  if (!at)
    return unexpected{at.error()};
  out->of_ = now;
  out->at_ = *std::move(at);
  fault_guard guard{out->at_->fault_text()};
  const auto applied = get_applied(out->at_->txn(), now->meta());
  out->index_ = applied.index;
  out->term_ = applied.term;
  out->rows_ = now->rows;
  return out;
}

result<std::vector<stored_row>, problem>
state_store::copy::page(const std::string& after, std::size_t bytes) const {
  fault_guard guard{at_->fault_text()};
  std::vector<stored_row> out;
  MDB_cursor* cursor = nullptr;
  int code = mdb_cursor_open(at_->txn(), rows_, &cursor);
  MDB_val key, value;
  if (code == 0)
    code = go_to_first(cursor, {.from = after.empty() ? after : after + '\0'}, key, value);
  for (std::size_t size = 0; code == 0 && size < bytes;) {
    out.push_back({std::string{from_lmdb(key)}, std::string{from_lmdb(value)}});
    size += key.mv_size + value.mv_size;
    code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
  }
  if (cursor != nullptr)
    mdb_cursor_close(cursor);
  if (code != 0 && code != MDB_NOTFOUND)
    return unexpected{problem{
      problem_kind::unavailable,
      std::string{"reading the store failed: "} + mdb_strerror(code),
      "ledger/",
      "the disk or the file may be damaged; compare with a backup"}};
  return out;
}

// -- reading ------------------------------------------------------------------------------------

std::optional<write_failure> state_store::write_identity(std::string_view disk_id) {
  const auto now = in_force();
  auto failed =
    now->disk->write(4096, [&](MDB_txn* txn) { return put_disk_id(txn, now->meta(), disk_id); });
  if (!failed)
    disk_id_ = disk_id;
  return failed;
}

result<std::optional<std::string>, problem> state_store::row(std::string_view key) const {
  std::optional<std::string> out;
  if (key.empty() || key.size() > limits::key_bytes)
    return out;
  auto done = look([&](MDB_txn* txn, MDB_dbi rows) {
    auto k = to_lmdb(key);
    MDB_val v;
    int code = mdb_get(txn, rows, &k, &v);
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
  auto done = look([&](MDB_txn* txn, MDB_dbi rows) {
    MDB_cursor* cursor = nullptr;
    int code = mdb_cursor_open(txn, rows, &cursor);
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
