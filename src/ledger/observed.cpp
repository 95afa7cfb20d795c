#include "src/ledger/observed.hpp"

namespace assay::ledger {

std::vector<artifact_changed> changes_for(const tables& t, const artifact_seen& seen) {
  const auto* row = find(t.artifact_states, seen.artifact);
  if (!row || row->manifest != seen.manifest)
    return {};
  auto to = [&](artifact_state state) {
    return artifact_changed{seen.artifact, seen.manifest, state, seen.host, seen.detail};
  };
  if (!seen.matches)
    return row->state == artifact_state::verified ? std::vector{to(artifact_state::quarantined)}
                                                  : std::vector<artifact_changed>{};
  switch (row->state) {
  case artifact_state::registered:
    return {to(artifact_state::present), to(artifact_state::verified)};
  case artifact_state::present:
    return {to(artifact_state::verified)};
  default:
    return {};
  }
}

std::optional<stack_seen> change_for(
  const tables& t,
  const host_id& host,
  const pool_id& pool,
  const digest& fingerprint,
  const std::map<std::string, std::string>& fields
) {
  const auto* row = find(t.hosts, host);
  if (row && row->fingerprint == fingerprint && row->pool == pool)
    return {};
  stack_seen seen{.host = host, .pool = pool, .fingerprint = fingerprint, .fields = {}};
  for (const auto& [name, value] : fields)
    seen.fields.push_back({name, value});
  return seen;
}

} // namespace assay::ledger
