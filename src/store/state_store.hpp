#pragma once
// The environment `ledger/`: the tables' rows, and in the same transaction how far they are
// applied.
//
// The writer is one thread; reads may come from any, each in a transaction of its own that ends
// with the call.
//
// There are two databases of rows: those in force, and those that come in from another member when
// this one is too far behind. One transaction puts the second in the first one's place, so a crash
// leaves the old state or the new one.

#include "src/store/environment.hpp"
#include "src/store/rows.hpp"
#include "src/store/state_machine.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <atomic>
#include <mutex>

namespace assay::store {

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
  std::optional<write_failure> clear_incoming();
  /// Keys grow from page to page.
  std::optional<write_failure> write_incoming(const std::vector<stored_row>& page);
  /// The rows in force go; those that came in take their place, as of `index`.
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
    std::unique_ptr<environment::moment> at_;
    MDB_dbi rows_ = 0;
    std::uint64_t index_ = 0, term_ = 0;
  };
  result<std::unique_ptr<copy>, problem> copy_of_now() const;

  std::optional<write_failure> write_identity(std::string_view disk_id);

  result<std::optional<std::string>, problem> row(std::string_view key) const;
  result<std::vector<stored_row>, problem> rows(const row_scan& what) const;

  environment& disk() { return *environment_; }
  const environment& disk() const { return *environment_; }

private:
  explicit state_store(std::unique_ptr<environment> open);
  MDB_dbi rows_in_force(std::uint64_t turns) const;
  MDB_dbi incoming() const { return rows_in_force(turns_ + 2); }
  result<void, problem> look(const std::function<int(MDB_txn*, MDB_dbi)>& at_rows) const;

  std::unique_ptr<environment> environment_;
  /// Twice the number of times that the databases took turns; odd while they do. A reader whose
  /// transaction may have seen another turn than it thought looks again.
  std::atomic<std::uint64_t> turns_ = 0;
  mutable std::mutex turning_;
};

} // namespace assay::store
