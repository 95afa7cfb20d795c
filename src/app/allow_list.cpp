#include "src/app/allow_list.hpp"

#include "src/base/peer_limits.hpp"

#include <algorithm>

namespace assay::app {

std::vector<fabric::admitted> allow_list_of(const ledger::tables& t, wall_ms now) {
  std::vector<fabric::admitted> allowed;
  for (const auto& [name, row] : *t.identities) {
    auto key = fabric::parse_public_key(row.identity.curve_public);
    auto is_agent = row.identity.role == ledger::identity_role::host
                    || row.identity.role == ledger::identity_role::job_agent;
    if (key && is_agent && !row.revoked)
      allowed.push_back({*key, host_id{name}, fabric::role::agent});
  }
  for (const auto& [id, row] : *t.tokens) {
    auto key = fabric::parse_public_key(id);
    if (key && row.used_by.empty() && now < row.token.expires_at)
      allowed.push_back({*key, {}, fabric::role::joiner});
  }
  return allowed;
}

std::vector<peers::peer> peers_of(const ledger::tables& t, std::uint64_t self) {
  auto me = std::ranges::find(t.head.members, self, &ledger::member::id);
  auto votes = me != t.head.members.end() && me->voter;
  std::vector<peers::peer> all;
  for (const auto& m : t.head.members) {
    auto key = fabric::parse_public_key(m.curve_public);
    const auto* identity = ledger::find(t.identities, m.name);
    auto is_revoked = identity && identity->revoked;
    if (key && m.id != self && !is_revoked && (votes || m.voter))
      all.push_back({m.id, m.address, *key, m.disk});
  }
  return all;
}

void key_grace::hold(
  const std::vector<peers::peer>& known, std::vector<peers::peer>& named, steady_time now
) {
  for (auto& one : named) {
    auto was = std::ranges::find(known, one.node, &peers::peer::node);
    auto is_changed = was != known.end() && was->key != one.key && was->disk == one.disk;
    if (!is_changed) {
      changes_.erase(one.node);
      continue;
    }
    auto& change = changes_.try_emplace(one.node, key_grace::change{one.key, now}).first->second;
    if (change.to != one.key)
      change = {one.key, now};
    if (now - change.since < limits::key_change_grace)
      one.key = was->key;
    else
      changes_.erase(one.node);
  }
}

} // namespace assay::app
