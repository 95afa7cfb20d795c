#pragma once
// `raft/`: term and vote, log entries by index, the mark of the last compaction.
//
// What is written goes into the journal with one sync, and from there into the environment in
// larger steps; until then it stays in memory too. The writer is one thread; `entry_at` may be
// asked by any.

#include "src/consensus/participant.hpp"
#include "src/store/environment.hpp"
#include "src/store/journal.hpp"
#include "src/store/log_tail.hpp"

#include <mutex>

namespace assay::store {

class log_store : public consensus::stored_log {
public:
  static result<std::unique_ptr<log_store>, problem>
  open(const std::filesystem::path& folder, std::uint64_t map_bytes);

  struct contents {
    consensus::hard_state hard;
    std::optional<consensus::snapshot_mark> snapshot;
    std::uint64_t first_index = 1;
    std::vector<consensus::entry> entries; ///< Only changes with their bytes.
    std::uint64_t run = 0;
    std::string disk_id; ///< Made at bootstrap, the same in both environments; empty: nothing yet.
  };
  result<contents, problem> load() const;

  /// Term, vote and entries, all or nothing; what the log holds from the first new index on goes.
  std::optional<write_failure> write(
    const std::optional<consensus::hard_state>& hard, const std::vector<consensus::append>& appends
  );

  /// Forgets the entries before `first_kept`, remembering what stood at `mark`.
  std::optional<write_failure>
  compact(const consensus::snapshot_mark& mark, std::uint64_t first_kept);

  /// The whole log goes and the mark stays: a state that was fetched has taken its place.
  std::optional<write_failure> replace(const consensus::snapshot_mark& mark);

  /// The first state of all, in one transaction: identity, term and the first entry.
  std::optional<write_failure> found(
    std::string_view disk_id, const consensus::hard_state& hard, const consensus::append& first
  );

  std::optional<write_failure> write_run(std::uint64_t run);

  result<consensus::entry, problem> entry_at(std::uint64_t index) const;
  /// The same for who can do without.
  std::optional<consensus::entry> at(std::uint64_t index) const override;

  /// Makes sure that the disk has room for entries of this size and for what the journal holds.
  std::optional<write_failure> reserve(std::uint64_t bytes);
  std::uint32_t map_percent() const;
  std::vector<open_reader> readers() const { return environment_->readers(); }

  /// Tests: an errno that stands in for what the disk reports.
  void inject(const std::function<int()>& fault);
  void limit(std::function<bool(std::uint64_t)> has_room) {
    environment_->limit(std::move(has_room));
  }

private:
  log_store(const std::filesystem::path& folder, std::unique_ptr<environment> open)
    : environment_{std::move(open)}, journal_{folder} {}

  result<void, problem> open_journal();

  std::optional<write_failure> make_journal();
  std::optional<write_failure> make_room(std::size_t frame_bytes);
  std::optional<write_failure> settle();
  std::optional<write_failure>
  change(std::uint64_t bytes, const std::function<int(MDB_txn*)>& fill);
  std::optional<write_failure> write_large(
    const std::optional<consensus::hard_state>& hard, const std::vector<consensus::append>& appends
  );
  int put_hard(MDB_txn* txn, const std::optional<consensus::hard_state>& hard) const;

  std::unique_ptr<environment> environment_;
  journal journal_;
  mutable std::mutex mutex_; ///< Over `unsettled_`, which only the writer changes.
  log_tail unsettled_;       ///< What the journal holds and the environment does not.
};

} // namespace assay::store
