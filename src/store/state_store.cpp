#include "src/store/state_store.hpp"

#include "src/base/check.hpp"
#include "src/base/limits.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace assay::store {

namespace {

constexpr std::size_t rows_db = 0, meta_db = 1, other_rows_db = 2;
constexpr std::string_view applied_key = "applied", identity_key = "disk", turns_key = "turns",
                           fetched_key = "fetched";
constexpr std::uint64_t adoption_bytes = 1 << 20; ///< Of lists of freed pages, mostly.

int put(MDB_txn* txn, MDB_dbi db, std::string_view key, std::string_view value) {
  auto k = to_lmdb(key), v = to_lmdb(value);
  return mdb_put(txn, db, &k, &v, 0);
}

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

int put_number(MDB_txn* txn, MDB_dbi db, std::string_view key, std::uint64_t number) {
  return put(txn, db, key, {reinterpret_cast<const char*>(&number), sizeof number});
}

std::uint64_t get_number(MDB_txn* txn, MDB_dbi db, std::string_view key) {
  auto k = to_lmdb(key);
  MDB_val v;
  std::uint64_t out = 0;
  if (mdb_get(txn, db, &k, &v) == 0 && v.mv_size == sizeof out)
    std::memcpy(&out, v.mv_data, sizeof out);
  return out;
}

/// Index and term in one value, in the transaction of the rows: an index saved without its rows
/// would lose them for ever.
int put_applied(MDB_txn* txn, MDB_dbi meta, std::uint64_t index, std::uint64_t term) {
  char applied[16];
  std::memcpy(applied, &index, 8);
  std::memcpy(applied + 8, &term, 8);
  return put(txn, meta, applied_key, {applied, sizeof applied});
}

void get_applied(MDB_txn* txn, MDB_dbi meta, std::uint64_t& index, std::uint64_t& term) {
  auto k = to_lmdb(applied_key);
  MDB_val v;
  if (mdb_get(txn, meta, &k, &v) != 0 || v.mv_size != 16)
    return;
  std::memcpy(&index, v.mv_data, 8);
  std::memcpy(&term, static_cast<const char*>(v.mv_data) + 8, 8);
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
  into.clear(); // Of a look before this one.
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
  auto env = environment::open(folder, map_bytes, {{"rows", 0}, {"meta", 0}, {"rows-2", 0}});
  if (!env)
    return unexpected{env.error()};
  return std::unique_ptr<state_store>{new state_store{*std::move(env)}};
}

state_store::state_store(std::unique_ptr<environment> open) : environment_{std::move(open)} {
  // Unreadable: `load_mark` is asked next, and says so.
  (void)environment_->read([&](MDB_txn* txn) {
    turns_ = get_number(txn, environment_->dbi(meta_db), turns_key);
    return 0;
  });
}

MDB_dbi state_store::rows_in_force(std::uint64_t turns) const {
  return environment_->dbi(turns / 2 % 2 == 0 ? rows_db : other_rows_db);
}

result<void, problem> state_store::look(const std::function<int(MDB_txn*, MDB_dbi)>& at_rows
) const {
  for (;;) {
    const auto turns = turns_.load();
    auto done =
      environment_->read([&](MDB_txn* txn) { return at_rows(txn, rows_in_force(turns)); });
    if (turns % 2 == 0 && turns_ == turns)
      return done;
    std::lock_guard wait{turning_};
  }
}

result<state_store::mark, problem> state_store::load_mark() const {
  mark out;
  auto done = environment_->read([&](MDB_txn* txn) {
    const auto meta = environment_->dbi(meta_db);
    get_applied(txn, meta, out.index, out.term);
    out.fetched = get_number(txn, meta, fetched_key);
    auto k = to_lmdb(identity_key);
    MDB_val v;
    if (mdb_get(txn, meta, &k, &v) == 0)
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
  // The opening thread or the writing one: nobody takes turns meanwhile.
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
  return environment_->write(bytes, [&](MDB_txn* txn) {
    const auto into = rows_in_force(turns_);
    MDB_cursor* cursor = nullptr;
    int code = mdb_cursor_open(txn, into, &cursor);
    for (auto at = sorted.begin(); code == 0 && at != sorted.end(); ++at) {
      const auto& [key, value] = **at;
      code = value ? put(cursor, key, *value) : remove(txn, into, key);
    }
    if (cursor != nullptr)
      mdb_cursor_close(cursor);
    return code == 0 ? put_applied(txn, environment_->dbi(meta_db), index, term) : code;
  });
}

// -- a state that comes in ----------------------------------------------------------------------

std::optional<write_failure> state_store::clear_incoming() {
  return environment_->write(adoption_bytes, [&](MDB_txn* txn) {
    return mdb_drop(txn, incoming(), 0);
  });
}

std::optional<write_failure> state_store::write_incoming(const std::vector<stored_row>& page) {
  std::uint64_t bytes = 64;
  for (const auto& row : page)
    bytes += row.key.size() + row.value.size() + 64;
  return environment_->write(bytes, [&](MDB_txn* txn) {
    for (const auto& row : page) {
      auto k = to_lmdb(row.key), v = to_lmdb(row.value);
      if (int code = mdb_put(txn, incoming(), &k, &v, MDB_APPEND); code != 0)
        return code;
    }
    return 0;
  });
}

std::optional<write_failure> state_store::adopt_incoming(std::uint64_t index, std::uint64_t term) {
  std::lock_guard turning{turning_};
  const auto before = turns_.fetch_add(1);
  auto failed = environment_->write(adoption_bytes, [&](MDB_txn* txn) {
    const auto meta = environment_->dbi(meta_db);
    int code = mdb_drop(txn, rows_in_force(before), 0);
    if (code == 0)
      code = put_number(txn, meta, turns_key, before + 2);
    if (code == 0)
      code = put_number(txn, meta, fetched_key, index);
    if (code == 0)
      code = put_applied(txn, meta, index, term);
    return code;
  });
  turns_ = failed ? before : before + 2;
  return failed;
}

result<std::unique_ptr<state_store::copy>, problem> state_store::copy_of_now() const {
  auto out = std::make_unique<copy>();
  auto at = environment_->hold();
  if (!at)
    return unexpected{at.error()};
  out->at_ = *std::move(at);
  const auto meta = environment_->dbi(meta_db);
  get_applied(out->at_->txn(), meta, out->index_, out->term_);
  out->rows_ = rows_in_force(get_number(out->at_->txn(), meta, turns_key));
  return out;
}

result<std::vector<stored_row>, problem>
state_store::copy::page(const std::string& after, std::size_t bytes) const {
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
  return environment_->write(4096, [&](MDB_txn* txn) {
    return put(txn, environment_->dbi(meta_db), identity_key, disk_id);
  });
}

result<std::optional<std::string>, problem> state_store::row(std::string_view key) const {
  std::optional<std::string> out;
  if (key.empty() || key.size() > limits::key_bytes)
    return out;
  auto done = look([&](MDB_txn* txn, MDB_dbi rows) {
    auto k = to_lmdb(key);
    MDB_val v;
    int code = mdb_get(txn, rows, &k, &v);
    out.reset(); // Of a look before this one.
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
