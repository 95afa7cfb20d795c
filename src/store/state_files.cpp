#include "src/store/state_files.hpp"

#include <cstring>

namespace assay::store {

namespace {

constexpr std::size_t rows_db = 0, meta_db = 1, other_rows_db = 2;
constexpr std::string_view applied_key = "applied", identity_key = "disk", turns_key = "turns",
                           fetched_key = "fetched";

int put(MDB_txn* txn, MDB_dbi db, std::string_view key, std::string_view value) {
  auto k = to_lmdb(key), v = to_lmdb(value);
  return mdb_put(txn, db, &k, &v, 0);
}

/// Empty when it is not there.
std::string_view get(MDB_txn* txn, MDB_dbi db, std::string_view key) {
  auto k = to_lmdb(key);
  MDB_val v;
  return mdb_get(txn, db, &k, &v) == 0 ? from_lmdb(v) : std::string_view{};
}

std::uint64_t get_number(MDB_txn* txn, MDB_dbi db, std::string_view key) {
  auto value = get(txn, db, key);
  std::uint64_t out = 0;
  if (value.size() == sizeof out)
    std::memcpy(&out, value.data(), sizeof out);
  return out;
}

} // namespace

result<std::shared_ptr<state_files>, problem>
state_files::open(const std::filesystem::path& folder, std::uint64_t map_bytes) {
  auto env = environment::open(folder, map_bytes, {{"rows", 0}, {"meta", 0}, {"rows-2", 0}});
  if (!env)
    return unexpected{env.error()};
  auto out = std::make_shared<state_files>();
  out->disk = *std::move(env);
  std::uint64_t turns = 0;
  // Unreadable: whoever opens asks for the mark next, and tells.
  (void)out->disk->read([&](MDB_txn* txn) {
    turns = get_number(txn, out->meta(), turns_key);
    return 0;
  });
  out->rows = out->disk->dbi(turns / 2 % 2 == 0 ? rows_db : other_rows_db);
  return out;
}

MDB_dbi state_files::meta() const {
  return disk->dbi(meta_db);
}

int put_applied(MDB_txn* txn, MDB_dbi meta, const applied_mark& what) {
  char applied[16];
  std::memcpy(applied, &what.index, 8);
  std::memcpy(applied + 8, &what.term, 8);
  return put(txn, meta, applied_key, {applied, sizeof applied});
}

applied_mark get_applied(MDB_txn* txn, MDB_dbi meta) {
  applied_mark out;
  auto value = get(txn, meta, applied_key);
  if (value.size() != 16)
    return out;
  std::memcpy(&out.index, value.data(), 8);
  std::memcpy(&out.term, value.data() + 8, 8);
  return out;
}

int put_disk_id(MDB_txn* txn, MDB_dbi meta, std::string_view id) {
  return put(txn, meta, identity_key, id);
}

std::string get_disk_id(MDB_txn* txn, MDB_dbi meta) {
  return std::string{get(txn, meta, identity_key)};
}

int put_fetched(MDB_txn* txn, MDB_dbi meta, std::uint64_t index) {
  return put(txn, meta, fetched_key, {reinterpret_cast<const char*>(&index), sizeof index});
}

std::uint64_t get_fetched(MDB_txn* txn, MDB_dbi meta) {
  return get_number(txn, meta, fetched_key);
}

} // namespace assay::store
