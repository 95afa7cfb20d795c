#pragma once
// What an agent saw, as records to propose. Asks the tables first, so that what is on record
// already is not proposed again. Pure.

#include "src/ledger/tables.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay::ledger {

/// An agent's word on an artifact's files.
struct artifact_seen {
  artifact_id artifact;
  digest manifest; ///< What the files were checked against.
  host_id host;
  bool matches = false;
  std::string detail; ///< The file that does not match.
};

/// The steps that lead from the artifact's recorded state to what was seen; empty when it is there
/// already, was decided otherwise by a person, or is declared with another manifest by now.
std::vector<artifact_changed> changes_for(const tables& t, const artifact_seen& seen);

/// The record of a host's stack, unless the ledger has it.
std::optional<stack_seen> change_for(
  const tables& t,
  const host_id& host,
  const pool_id& pool,
  const digest& fingerprint,
  const std::map<std::string, std::string>& fields
);

} // namespace assay::ledger
