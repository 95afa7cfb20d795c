#pragma once
// The environment `ledger/`: the tables' rows, and in the same transaction how far they are
// applied.
//
// The writer is one thread; reads may come from any, each in a transaction of its own that ends
// with the call.
//
// A state that comes in from another member goes into files of its own, in `ledger/incoming/`. They
// take the place of ours by a rename, so a crash leaves the old state or the new one, and whatever
// was wrong with the old files goes with them. Who reads these meanwhile reads on.

#include "src/store/environment.hpp"
#include "src/store/rows.hpp"
#include "src/store/state_machine.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <memory>
#include <mutex>

namespace assay::store {

struct state_files;

class state_store {
public:
  struct key_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const {
      return std::hash<std::string_view>{}(key);
    }
  };
  using row_changes =
    boost::unordered_flat_map<std::string, std::optional<std::string>, key_hash, std::equal_to<>>;

  static result<std::unique_ptr<state_store>, problem>
  open(const std::filesystem::path& folder, std::uint64_t map_bytes);

  struct mark {
    std::uint64_t index = 0;
    std::uint64_t term = 0;
    std::string disk_id;
    std::uint64_t fetched = 0; ///< What `index` was when a state of another member took its place.
  };
  result<mark, problem> load_mark() const;

  /// Hands over every row of a prefix in key order until `take` reports a problem.
  result<void, problem> load_rows(
    std::string_view prefix,
    const std::function<result<void, problem>(std::string_view key, std::string_view value)>& take
  ) const;

  std::optional<write_failure>
  write(const row_changes& rows, std::uint64_t index, std::uint64_t term);

  // -- a state that comes in
  /// What came in before goes, and new files are begun.
  std::optional<write_failure> clear_incoming();
  /// What came in goes, and its room is the disk's again.
  std::optional<write_failure> drop_incoming();
  /// Keys grow from page to page.
  std::optional<write_failure> write_incoming(const std::vector<stored_row>& page);
  /// The files in force go; those that came in take their place, as of `index`.
  std::optional<write_failure> adopt_incoming(std::uint64_t index, std::uint64_t term);

  /// The state of one moment, for who copies it whole. One thread at a time.
  class copy {
  public:
    std::uint64_t index() const { return index_; }
    std::uint64_t term() const { return term_; }
    /// The rows behind a key, up to about `bytes`; fewer than that only at the end.
    result<std::vector<stored_row>, problem>
    page(const std::string& after, std::size_t bytes) const;

  private:
    friend state_store;
    std::shared_ptr<const void> of_; ///< Outlives the moment.
    std::unique_ptr<environment::moment> at_;
    MDB_dbi rows_ = 0;
    std::uint64_t index_ = 0, term_ = 0;
  };
  result<std::unique_ptr<copy>, problem> copy_of_now() const;

  std::optional<write_failure> write_identity(std::string_view disk_id);

  result<std::optional<std::string>, problem> row(std::string_view key) const;
  result<std::vector<stored_row>, problem> rows(const row_scan& what) const;

  /// The files in force, now. Any thread; the writing one alone may write.
  std::shared_ptr<environment> disk() const;

  /// Tests: for the files in force and those that come in; see `environment`.
  void inject(std::function<int()> fault);
  void limit(std::function<bool(std::uint64_t)> has_room);

private:
  state_store(
    std::filesystem::path folder, std::uint64_t map_bytes, std::shared_ptr<state_files> open
  );
  std::shared_ptr<state_files> in_force() const;
  result<void, problem> look(const std::function<int(MDB_txn*, MDB_dbi)>& at_rows) const;
  std::optional<write_failure> put_in_place();
  void spoil(environment& which) const;

  const std::filesystem::path folder_;
  const std::uint64_t map_bytes_;
  std::string disk_id_;
  mutable std::mutex mutex_; ///< Over which files are in force.
  std::shared_ptr<state_files> in_force_;
  std::shared_ptr<state_files> incoming_;
  std::function<int()> fault_;
  std::function<bool(std::uint64_t)> has_room_;
};

} // namespace assay::store
