#pragma once
// The ledger as one stream that anybody can audit without us: `assay ledger export`.
//
// The export is cut at the view that was newest when it began, and its head is signed then. Rows
// are copied out in pages when they are asked for, so a slow reader pins nothing. Frames and their
// meaning: src/ledger/audit.hpp.

#include "src/store/ledger_machine.hpp"

#include <string>
#include <vector>

namespace assay::store {

/// Who signs the head of an export.
struct export_signer {
  const ledger::signing_key& key;
  std::string member;
};

class ledger_export {
public:
  /// `not_found` when the ledger has no cluster yet. The engine outlives the export.
  static result<ledger_export, problem>
  begin(const ledger_engine& engine, const export_signer& signer);

  /// The next whole frames, some `piece_bytes` of them; an empty text behind the signed head. What
  /// came before a problem is no export: it lacks its head.
  result<std::string, problem> next();

  static constexpr std::size_t piece_bytes = 256 << 10;

private:
  ledger_export(const ledger_engine& engine, view_ptr from) : engine_{&engine}, from_{from} {}
  result<void, problem> fill_page();
  result<std::string, problem> batch_at(std::size_t at);

  const ledger_engine* engine_;
  view_ptr from_;
  std::string first_frame_; ///< The first frame; empty once it was handed out.
  std::string last_frame_;  ///< Empty once it was.
  row_scan scan_;
  std::vector<stored_row> page_;
  std::size_t at_ = 0;
  bool is_over_ = false; ///< No batch is left.
};

} // namespace assay::store
