#pragma once
// What one record or state entry does to the tables: rules by payload. Only apply.cpp and its
// sisters include this.
//
// A rule asks everything first and changes nothing when it refuses. Rules are deterministic: they
// know the tables, the payload, and what the ledger is about to stamp on the record.

#include "src/ledger/apply.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::ledger {

/// Nothing: the rule holds and the change was made.
using ruling = std::optional<refusal>;

inline ruling refuse(std::string_view code, std::string text) {
  return refusal{std::string{code}, std::move(text)};
}

inline std::string in_quotes(std::string_view name) {
  return "\"" + std::string{name} + "\"";
}

/// The tables under change, what the ledger stamps, and the rows to write.
struct change_set {
  ledger::tables& tables;
  wall_ms now;
  std::uint64_t seq = 0;
  digest record; ///< Hash of the record being applied.
  std::string author;
  ledger::trust trust = trust::claimed;

  std::vector<row_change> rows;
  std::vector<subject> also_about; ///< Found in the tables: a move's route, and the like.

  void put(row r) {
    tables.load(r);
    rows.push_back({table_of(r), key_of(r), std::move(r)});
  }
  void drop(const row& r) {
    tables.drop(r);
    rows.push_back({table_of(r), key_of(r), std::nullopt});
  }
  void about(std::string_view kind, std::string_view name) {
    also_about.push_back({subject_of(kind, name), std::string{kind}});
  }
};

// apply_cluster.cpp
ruling change(change_set& c, const cluster_created& p);
ruling change(change_set& c, const membership& p);
ruling change(change_set& c, const cluster_version& p);
ruling change(change_set& c, const key_issued& p);
ruling change(change_set& c, const key_revoked& p);
ruling change(change_set& c, const identity_added& p);
ruling change(change_set& c, const identity_revoked& p);
ruling change(change_set& c, const token_issued& p);

// host_duty.cpp
ruling change(change_set& c, const host_standing& p);

// apply_catalog.cpp
ruling change(change_set& c, const declared& p);
ruling change(change_set& c, const retired& p);

// apply_evidence.cpp
ruling change(change_set& c, const artifact_changed& p);
ruling change(change_set& c, const stack_seen& p);
ruling change(change_set& c, const eval_run& p);
ruling change(change_set& c, const waiver& p);
ruling change(change_set& c, const waiver_ended& p);
ruling change(change_set& c, const revocation& p);

// apply_qualification.cpp
ruling change(change_set& c, const qualification_opened& p);
ruling change(change_set& c, const qualification_decided& p);
ruling change(change_set& c, const qualification_changed& p);
ruling change(change_set& c, const qualification_extended& p);

// apply_moves.cpp
ruling change(change_set& c, const move_proposed& p);
ruling change(change_set& c, const move_authorised& p);
ruling change(change_set& c, const move_route_changed& p);
ruling change(change_set& c, const move_acked& p);
ruling change(change_set& c, const move_changed& p);

// apply_jobs.cpp
ruling change(change_set& c, const job_submitted& p);
ruling change(change_set& c, const job_ended& p);
ruling change(change_set& c, const job_checkpoint& p);
ruling change(change_set& c, const usage& p);
ruling change(change_set& c, const holding& p);

// apply_service.cpp
ruling change(change_set& c, const serving_summary& p);

/// An id that is empty, too long for a key, or holds a control character cannot name anything.
ruling bad_name(std::string_view kind, std::string_view name);

} // namespace assay::ledger
