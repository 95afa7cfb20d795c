#pragma once
// The chain again, record by record, as the rows on disk have it: whether each holds what was
// written, and follows the one before. Pure; slow reading is somebody else's.
//
// It looks at bytes alone. Whether the records obey the rules, `auditor` says
// (src/ledger/audit.hpp).

#include "src/ledger/audit.hpp"
#include "src/ledger/tables.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace assay::ledger {

class chain_walk {
public:
  explicit chain_walk(const uuid& cluster);
  /// Begins behind a record whose place is believed: `chain` is the one with record `passed`.
  chain_walk(std::uint64_t passed, const digest& chain) : seq_{passed}, chain_{chain} {}

  /// The seq of the record that `take` wants.
  std::uint64_t next() const { return seq_ + 1; }

  /// With the record that was passed last.
  const digest& chain() const { return chain_; }

  /// The first thing that is wrong with it; then it is not passed, and may be handed in again.
  std::optional<finding> take(const record_row& row);

private:
  std::uint64_t seq_ = 0; ///< Passed last.
  digest chain_;
};

} // namespace assay::ledger
