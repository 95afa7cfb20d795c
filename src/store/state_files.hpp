#pragma once
// The files of one state: rows in one database, and in another how far they are applied, on which
// disk they were made, and whether another member gave them.

#include "src/store/environment.hpp"

#include <memory>

namespace assay::store {

struct state_files {
  static constexpr auto incoming = "incoming"; ///< The folder of those that are not in force yet.

  std::unique_ptr<environment> disk;
  MDB_dbi rows = 0; ///< Older versions let two databases take turns.

  static result<std::shared_ptr<state_files>, problem>
  open(const std::filesystem::path& folder, std::uint64_t map_bytes);

  MDB_dbi meta() const;
};

// What the second one holds.

struct applied_mark {
  std::uint64_t index = 0;
  std::uint64_t term = 0;
};
/// Index and term in one value, in the transaction of the rows: an index saved without its rows
/// would lose them for ever.
int put_applied(MDB_txn* txn, MDB_dbi meta, const applied_mark& what);
applied_mark get_applied(MDB_txn* txn, MDB_dbi meta);

int put_disk_id(MDB_txn* txn, MDB_dbi meta, std::string_view id);
std::string get_disk_id(MDB_txn* txn, MDB_dbi meta);

/// The index as of which another member gave the state.
int put_fetched(MDB_txn* txn, MDB_dbi meta, std::uint64_t index);
std::uint64_t get_fetched(MDB_txn* txn, MDB_dbi meta);

} // namespace assay::store
