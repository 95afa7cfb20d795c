#pragma once
// The environment `ledger/`: the tables' rows, and in the same transaction how far they are
// applied.
//
// The writer is one thread; reads may come from any, each in a transaction of its own that ends
// with the call.

#include "src/store/environment.hpp"
#include "src/store/rows.hpp"
#include "src/store/state_machine.hpp"

#include <map>

namespace assay::store {

class state_store {
public:
  using row_changes = std::map<std::string, std::optional<std::string>, std::less<>>;

  static result<std::unique_ptr<state_store>, problem>
  open(const std::filesystem::path& folder, std::uint64_t map_bytes);

  struct mark {
    std::uint64_t index = 0;
    std::uint64_t term = 0;
    std::string disk_id;
  };
  result<mark, problem> load_mark() const;

  /// Hands over every row of a prefix in key order until `take` reports a problem.
  result<void, problem> load_rows(
    std::string_view prefix,
    const std::function<result<void, problem>(std::string_view key, std::string_view value)>& take
  ) const;

  std::optional<write_failure>
  write(const row_changes& rows, std::uint64_t index, std::uint64_t term);

  std::optional<write_failure> write_identity(std::string_view disk_id);

  result<std::optional<std::string>, problem> row(std::string_view key) const;
  result<std::vector<stored_row>, problem> rows(const row_scan& what) const;

  environment& disk() { return *environment_; }
  const environment& disk() const { return *environment_; }

private:
  explicit state_store(std::unique_ptr<environment> open) : environment_{std::move(open)} {}

  std::unique_ptr<environment> environment_;
};

} // namespace assay::store
