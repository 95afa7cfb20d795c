#pragma once
// The environment `raft/`: term and vote, log entries by index, the mark of the last compaction.
//
// One synced transaction per batch. The writer is one thread; `entry_at` may be asked by any.

#include "src/consensus/participant.hpp"
#include "src/store/environment.hpp"

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

  /// Term, vote and entries in one transaction; what the log holds from the first new index on
  /// goes.
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

  environment& disk() { return *environment_; }
  const environment& disk() const { return *environment_; }

private:
  explicit log_store(std::unique_ptr<environment> open) : environment_{std::move(open)} {}

  std::unique_ptr<environment> environment_;
};

} // namespace assay::store
