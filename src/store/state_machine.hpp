#pragma once
// What the engine replicates, as it sees it: bytes that are sealed into batches, applied in order,
// and turned into rows. The engine knows nothing of records or tables; `ledger_machine` is the one
// the product runs, tests bring a smaller one.
//
// Each member says which thread calls it. `apply` is a pure function of what was applied before and
// of its arguments: no clock, no chance, no disk.

#include "src/base/clock.hpp"
#include "src/base/digest.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::store {

/// What an asker gets for a proposal that was applied.
struct receipt {
  std::uint64_t seq = 0;    ///< Dense from 1; 0 for a state entry, which has none.
  digest record_hash;       ///< Of what the asker wrote; zero for a state entry.
  std::uint64_t index = 0;  ///< Raft index of the batch that carried it first.
  wall_ms stamped_at;       ///< The leader's time.
  bool is_repeated = false; ///< The same record was applied before; this is its first receipt.
};

using answer = result<receipt, problem>;

/// One change of one row. Keys have at most `limits::key_bytes` bytes and sort as bytes.
struct row_change {
  std::string key;
  std::optional<std::string> value; ///< None deletes the row.
};

/// What applying one batch did: one answer per proposal, in order.
struct applied {
  std::vector<answer> answers;
  std::vector<row_change> rows;
  std::uint64_t seq = 0; ///< Last sequence number in use afterwards.
  wall_ms stamped_at;    ///< The batch's stamp; the next one is later.
};

class state_machine {
public:
  virtual ~state_machine() = default;

  /// Makes one log entry of what waits: stamped, signed, in this order. LOG WRITER thread.
  virtual std::string
  seal(const std::vector<std::string>& proposals, wall_ms stamp, std::uint64_t term) = 0;

  /// Takes one row back from disk; called in key order before anything else. The opening thread.
  virtual result<void, problem> load(std::string_view key, std::string_view value) = 0;

  /// Applies a batch that `seal` made, here or on another coordinator. APPLIER thread.
  virtual applied apply(std::string_view batch, std::uint64_t index, std::uint64_t term) = 0;

  /// The tables as they are now, never changed again. APPLIER thread (and the opening thread).
  virtual std::shared_ptr<const void> share() = 0;
};

} // namespace assay::store
