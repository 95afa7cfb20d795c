#pragma once
// What an agent saw, as records to propose. Asks the tables first, so that what is on record
// already is not proposed again. Pure.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"
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

/// A ready replica of an implementation whose artifact is an adopted server: nobody checked bytes,
/// somebody says so. The steps are to be believed as `claimed`. Empty for any other artifact.
std::vector<artifact_changed>
changes_for_adopted(const tables& t, const implementation_id& answering, const host_id& host);

/// A stack as an agent reports it: the digest of its fields, and the fields.
struct reported_stack {
  digest sum;
  std::map<std::string, std::string> fields;
};

/// What a server that somebody else started runs on: its host's stack and the version that its
/// engine gave, which no folder of that stack holds. Without a version it is the host's.
reported_stack with_engine(reported_stack host, const std::string& engine);

/// The name under which that stack is on record beside the host's own.
host_id adopted_on(const host_id& host, const artifact_id& artifact);

/// A server that somebody else started, as its host's agent offers it.
struct adoption {
  host_id host;
  pool_id pool; ///< The host's.
  std::string url;
  model_id model;
  profile_id profile;
  project_id project; ///< Whom it serves until an operator approves.
};

/// The declarations that take the server in, in the order in which they are to be proposed: an
/// artifact `MODEL/adopted-HOST-PORT` and its implementation in the host's pool. Empty when it is
/// declared so already. Refused, with what to do, when the model, the profile or the project is not
/// declared, or the host is in no pool.
result<std::vector<declared>, problem> declarations_for(const tables& t, const adoption& a);

/// What its implementation is called.
implementation_id adopted_as(const adoption& a);

/// The project that an adopted server is kept to, until an operator approved it. Nothing when it is
/// approved or was not adopted.
std::optional<project_id> only_project_of(const tables& t, const artifact_id& artifact);

} // namespace assay::ledger
