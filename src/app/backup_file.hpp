#pragma once
// The file of `assay cluster backup`: all rows of one moment, the blobs, and the key that signs.
//
//   "assay backup\n", format and schema version (4 bytes each, little endian), then frames: kind
//   (1 byte), size (4), bytes.
//   r rows in the order of keys | b digest of a blob, p its pieces | m what it is, as JSON | e root
//   over the rows and SHA-256 of all before
//
// Reading believes nothing: every digest, the chain over the records, the root, and that the key is
// the one by which the ledger names its member. It never holds more than a frame in memory.

#include "src/base/digest.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/base/uuid.hpp"
#include "src/ledger/chain.hpp"
#include "src/store/blob_store.hpp"
#include "src/store/ledger_engine.hpp"

#include <filesystem>
#include <string>

namespace assay::app {

inline constexpr std::uint32_t backup_version = 1;

/// What a backup is of.
struct backup_manifest {
  uuid cluster;
  std::string cluster_name;
  std::string member; ///< Whose key it holds.
  ledger::signing_key::seed signing{};
  store::moment at;
  std::uint64_t seq = 0;
  digest chain;
  std::uint64_t last_member = 0; ///< The highest id that the cluster ever gave away.
  std::uint64_t rows = 0;
  std::uint64_t blobs = 0;
};

/// Who makes a backup, of what.
struct backup_source {
  const store::ledger_engine& engine;
  const store::blob_store& blobs;
  std::filesystem::path blob_folder;
  std::string member;
  ledger::signing_key::seed signing{};
};

/// Written beside `file` (`.partial`), mode 0600, synced, read back and checked, then renamed.
/// Whatever fails leaves nothing new behind.
result<backup_manifest, problem>
write_backup(const std::filesystem::path& file, const backup_source& from);

/// Where rows and blobs go that are read; empty: they are only checked.
struct backup_sink {
  store::row_taker rows;
  store::blob_store* blobs = nullptr;
};

/// What was handed over counts only when this returns a manifest.
result<backup_manifest, problem>
read_backup(const std::filesystem::path& file, const backup_sink& to = {});

} // namespace assay::app
