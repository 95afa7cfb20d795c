#pragma once
// The first records of a cluster, and the secrets that assayd needs for itself.
//
// Idempotent: whatever is on record already is left alone, so that a start that was cut goes on
// where it stopped.

#include "src/app/settings.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/fabric/curve_keys.hpp"
#include "src/ledger/chain.hpp"
#include "src/ledger/record.hpp"
#include "src/store/data_directory.hpp"
#include "src/store/ledger_engine.hpp"

#include <string>

namespace assay::app {

/// The secrets of one coordinator, from DIR/keys (0600), made when they are missing.
struct own_secrets {
  ledger::signing_key::seed signing{};
  fabric::key_pair curve;
  std::string evaluator_key; ///< EVALUATOR's and DISPATCHER's keys for the ingress.
  std::string dispatcher_key;
};
result<own_secrets, problem> load_secrets(const store::data_directory& directory, bool is_new);

/// `assay-` and 43 characters of URL-safe base64: 256 bits.
std::string new_key_secret();

/// Who founds a cluster: its first member.
struct founder {
  uuid cluster;
  std::string cluster_name;
  ledger::member me;
};
/// What stands in the ledger of this coordinator, but for its id.
ledger::member member_of(const settings& how, const own_secrets& secrets, const std::string& disk);

/// Cluster and membership; behind a restore, the membership of who is left. Refused where the
/// ledger is another cluster's.
result<void, problem> found_cluster(store::ledger_engine& engine, const founder& by);

/// The keys of this coordinator's own errands, which it needs to lead; its member name is in their
/// names.
result<void, problem> issue_own_keys(
  store::ledger_engine& engine, const own_secrets& secrets, const std::string& member_name
);

/// Standalone: the agent on this machine may speak as `host`.
result<void, problem>
admit_host(store::ledger_engine& engine, const std::string& host, const fabric::public_key& key);

} // namespace assay::app
