#pragma once
// An export as a rogue member would hand it out: dense seqs, a chain that runs, its own valid
// signatures and a signed head, around records that no member would have taken. For tests of the
// auditor, which has to find them by the rules alone.

#include "src/ledger/audit.hpp"

#include <memory>
#include <string>
#include <vector>

namespace assay::ledger::test {

/// A record and the time that the leader stamps on it.
struct told {
  wall_ms at;
  ledger::record record;
};

class forger {
public:
  /// The rogue is `one`, the only member of this cluster.
  explicit forger(const uuid& cluster);

  /// Everything that it signs is believed until here: the membership that names its key.
  void found();

  /// Seq of the record in the export, which says that it was taken.
  std::uint64_t put(const told& what);
  /// The same for bytes that may be no record at all.
  std::uint64_t put_bytes(wall_ms at, std::string canonical);
  /// The next record says that it comes one seq later than it does.
  void skip_seq() { ++seq_; }
  /// Signs for another chain than the records have.
  void bend_chain() { chain_ = sha256("bent"); }

  /// Header, batches and a head that is signed for what was put.
  std::string exported() const;

private:
  void sign(batch_row& b) const;

  std::shared_ptr<const signing_key> key_; ///< Shared, so that a forgery can go on two ways.
  uuid cluster_;
  std::uint64_t seq_ = 0;
  std::uint64_t index_ = 0;
  wall_ms stamped_at_;
  digest chain_;
  std::vector<export_batch> batches_;
};

} // namespace assay::ledger::test
