#pragma once
// What the engine replicates, as it sees it: bytes that are sealed into batches, applied in order,
// and turned into rows. The engine knows nothing of records or tables; `ledger_machine` is the one
// the product runs, tests bring a smaller one.
//
// Each member says which thread calls it. `apply` is a pure function of what was applied before and
// of its arguments: no clock, no chance, no disk but `known`.

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
  digest chain;             ///< Head of the hash chain with this record; zero for a state entry.
  wall_ms stamped_at;       ///< The leader's time.
  bool is_repeated = false; ///< The same record was taken before; this is its first receipt.
};

using answer = result<receipt, problem>;

/// One change of one row. Keys have at most `limits::key_bytes` bytes and sort as bytes.
struct row_change {
  std::string key;
  std::optional<std::string> value; ///< None deletes the row.
};

/// What applying one log entry did: one answer per proposal, in order.
struct applied {
  std::vector<answer> answers;
  std::vector<row_change> rows; ///< In order; a later change of a key replaces an earlier one.
  /// Why no leader of this group can have sealed the batch; empty otherwise. Then nothing was
  /// applied, and the member must not go on: leaving the batch out would fork it from the others.
  std::string forged;
  /// Why this program is too old to apply the batch; empty otherwise. The same then holds.
  std::string too_new;
};

/// Rows as of all entries applied so far, on disk or not yet.
class row_lookup {
public:
  virtual ~row_lookup() = default;
  virtual std::optional<std::string> find(std::string_view key) const = 0;
};

struct standing {
  std::uint64_t seq = 0; ///< Of the last record.
  wall_ms stamped_at;    ///< Of the last batch; the next one's is later.
};

/// Judges a whole state that another member gave, row by row in the order of keys. An empty text
/// finds nothing wrong.
class state_audit {
public:
  virtual ~state_audit() = default;
  virtual std::string take(std::string_view key, std::string_view value) = 0;
  /// After the last row: are these the rows as of the entry at `index`?
  virtual std::string finish(std::uint64_t index) = 0;
};

class state_machine {
public:
  virtual ~state_machine() = default;

  /// Makes one log entry of what waits: stamped, signed, in this order. LOG WRITER thread.
  virtual std::string
  seal(const std::vector<std::string>& proposals, wall_ms stamp, std::uint64_t term) = 0;

  /// Why the proposal must not enter the log, before the leader seals it. LOG WRITER thread.
  virtual std::optional<problem> refuse(std::string_view) const { return {}; }

  /// Whether the proposal is taken while there is only the room left that is kept for such. Asked
  /// only then. LOG WRITER thread.
  virtual bool is_essential(std::string_view) const { return false; }

  /// Which rows `load` is given; the others stay on disk. The opening thread.
  virtual std::vector<std::string> loaded_prefixes() const { return {""}; }

  /// Takes one row back from disk; called in key order before anything else. The opening thread,
  /// and behind `clear` APPLIER.
  virtual result<void, problem> load(std::string_view key, std::string_view value) = 0;

  /// Applies a batch that `seal` made, here or on another coordinator. APPLIER thread.
  virtual applied apply(
    std::string_view batch, std::uint64_t index, std::uint64_t term, const row_lookup& known
  ) = 0;

  /// An entry that carries no batch was committed. APPLIER thread.
  virtual std::vector<row_change> skip(std::uint64_t index, std::uint64_t term) = 0;

  /// Forgets all that was loaded and applied: the rows of another member's state are loaded next.
  /// APPLIER thread.
  virtual void clear() = 0;

  /// For a state that another member gives; null: any is believed. LOG WRITER thread.
  virtual std::unique_ptr<state_audit> begin_audit() const { return nullptr; }

  /// As of everything loaded and applied. APPLIER thread, and before it the opening one.
  virtual standing stands() const = 0;

  /// The tables as they are now, never changed again. The same threads.
  virtual std::shared_ptr<const void> share() = 0;
};

} // namespace assay::store
