#pragma once
// One LMDB environment: opened with the checks that LMDB leaves to its user, read in short
// transactions, written in whole ones.
//
// Processes that were killed while they read leave their places in the table of readers; these are
// given up every `reader_check_every`, and at once when a read finds no place.
//
// Full sync, no WRITEMAP (a full disk would be a SIGBUS), no DUPSORT, readers without thread-local
// slots. A write transaction begins and ends within `write`, so it never changes threads: one
// begun on one thread and committed on another hangs the next.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <lmdb.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::store {

/// What to do about a damaged directory. A voter that came back as it was before would take back
/// what it acknowledged.
inline constexpr auto damage_advice =
  "nothing was changed; in a cluster, remove this member on another one and join anew with an "
  "empty "
  "directory, because an older copy would take back what this member acknowledged; a standalone "
  "goes on from a copy of its whole directory";

/// Why nothing was written. A full disk passes; everything else ends the process.
struct write_failure {
  bool is_disk_full = false;
  std::string text;
};

/// What a commit's error code means, given the file system's free room. ENOSPC although there is
/// room was reported by the sync itself, which counts as EIO: what was written is lost.
bool is_full_disk(int code, std::uint64_t free_bytes, std::uint64_t wanted_bytes);

/// The failure that this error code of a write of `bytes` to `place` is.
write_failure failure_of(int code, const std::filesystem::path& place, std::uint64_t bytes);

/// Bytes and LMDB's view of them.
MDB_val to_lmdb(std::string_view bytes);
std::string_view from_lmdb(const MDB_val& value);

/// A read that is open in some process, ours too: it keeps the pages of its moment from being used
/// again.
struct open_reader {
  std::int64_t process = 0;
  std::uint64_t txn = 0; ///< The last transaction that it sees.

  friend bool operator==(const open_reader&, const open_reader&) = default;
};

/// One line of LMDB's list of readers: process, thread, transaction or `-`. Nothing: it is a title,
/// or a place where nobody reads now.
std::optional<open_reader> parse_reader(std::string_view line);

class environment {
public:
  static constexpr auto reader_check_every = std::chrono::seconds{30};

  struct database {
    const char* name;
    unsigned flags; ///< MDB_INTEGERKEY or 0.
  };

  /// Refuses a file shorter than the pages in use, which would be a SIGBUS later. `databases` are
  /// made when missing; `dbi(i)` is the i-th.
  static result<std::unique_ptr<environment>, problem> open(
    const std::filesystem::path& folder,
    std::uint64_t map_bytes,
    const std::vector<database>& databases
  );

  ~environment();
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;

  MDB_dbi dbi(std::size_t i) const { return databases_[i]; }

  /// Runs `fill` in a write transaction and commits; `fill` returns LMDB's code and does not touch
  /// anything but the transaction. Room for `bytes` is reserved first. One thread only.
  std::optional<write_failure> write(std::uint64_t bytes, const std::function<int(MDB_txn*)>& fill);

  /// Makes sure that the disk has room for a transaction of this size.
  std::optional<write_failure> reserve(std::uint64_t bytes);

  /// Runs `look` in a read transaction that ends with it. Any thread.
  result<void, problem> read(const std::function<int(MDB_txn*)>& look) const;

  /// A read transaction that stays open: it shows one moment, and pins the pages of that moment.
  /// One thread at a time.
  class moment {
  public:
    moment(MDB_txn* txn, const std::string& fault_text) : txn_{txn}, fault_text_{fault_text} {}
    ~moment() { mdb_txn_abort(txn_); }
    moment(const moment&) = delete;
    moment& operator=(const moment&) = delete;
    MDB_txn* txn() const { return txn_; }
    const std::string& fault_text() const { return fault_text_; }

  private:
    MDB_txn* txn_;
    const std::string& fault_text_; ///< The environment's, which outlives it.
  };
  result<std::unique_ptr<moment>, problem> hold() const;

  /// With `pending` bytes that are still to be written.
  std::uint32_t map_percent(std::uint64_t pending = 0) const;
  std::uint64_t newest_txn() const;

  /// Its files were moved to this folder. Before another thread uses it.
  void moved(std::filesystem::path to);
  std::vector<open_reader> readers() const;

  /// Tests: an errno that stands in for what the commit reports.
  void inject(std::function<int()> fault) { fault_ = std::move(fault); }
  /// Tests: whether the disk has room for a file of so many bytes.
  void limit(std::function<bool(std::uint64_t)> has_room) { has_room_ = std::move(has_room); }

private:
  environment(std::filesystem::path folder, MDB_env* env);
  result<void, problem> open_databases(const std::vector<database>& databases);
  result<void, problem> check_length() const;
  int commit(const std::function<int(MDB_txn*)>& fill);
  problem read_problem(int code) const;
  int begin_read(MDB_txn** txn) const;
  int take_spare();
  int read_by_spare(const std::function<int(MDB_txn*)>& look) const;
  void give_up_dead_readers() const;
  std::uint64_t used_bytes() const;

  std::filesystem::path folder_;
  std::string fault_text_; ///< What a `fault_guard` says while LMDB reads this file.
  MDB_env* env_ = nullptr;
  std::vector<MDB_dbi> databases_;
  std::uint64_t reserved_bytes_ = 0; ///< Length of the file up to which blocks are allocated.
  bool can_reserve_ = true;
  std::chrono::steady_clock::time_point next_reader_check_; ///< The writing thread's.
  std::function<int()> fault_;
  std::function<bool(std::uint64_t)> has_room_;

  /// A place among the readers that is ours, whatever others do: who fills the table must not end
  /// us.
  MDB_txn* spare_ = nullptr;
  mutable std::mutex spare_mutex_;
};

} // namespace assay::store
