#pragma once
// The ledger as one stream that anybody can audit without us: `assay ledger export`.
//
// The export is cut at the view that was newest when it began. Rows are copied out in pages, so a
// slow reader pins nothing. Frames and their meaning: src/ledger/audit.hpp.

#include "src/store/ledger_machine.hpp"

#include <functional>

namespace assay::store {

/// Who signs the head of an export.
struct export_signer {
  const ledger::signing_key& key;
  std::string member;
};

/// Hands over header, batches and signed head in order; `take` returns false to stop. `not_found`
/// when the ledger has no cluster yet.
result<void, problem> export_ledger(
  const ledger_engine& engine,
  const export_signer& signer,
  const std::function<bool(std::string_view)>& take
);

} // namespace assay::store
