#include "src/ledger/host_duty.hpp"

#include "src/ledger/changes.hpp"

#include <array>

namespace assay::ledger {

namespace {

constexpr std::size_t standings_most = 256; ///< In one answer.
constexpr std::array<std::string_view, 3> words{"in service", "draining", "quarantined"};

/// In one of the pools, as its identity says; or in any, as a host that named none.
bool could_run_for(const identity_row& row, const std::set<pool_id>& pools) {
  const auto& own = row.identity.pool;
  return row.identity.role == identity_role::host && (own.value.empty() || pools.contains(own));
}

bool is_kept(const identity_row& row) {
  return row.standing && row.standing->duty != host_duty::in_service;
}

} // namespace

ruling change(change_set& c, const host_standing& p) {
  auto* row = find(c.tables.identities, p.host.value);
  if (!row || row->identity.role != identity_role::host)
    return refuse("not_found", "there is no host " + in_quotes(p.host.value));
  if (row->revoked)
    return refuse(
      "revoked", "the host " + in_quotes(p.host.value) + " is revoked; it does nothing any more"
    );
  if (p.reason.empty())
    return refuse("no_reason", "whoever decides what a host may be used for says why");
  // To resume a host that is in service is a decision too: it forgives what its devices had.
  if (duty_of(c.tables, p.host) == p.duty && p.duty != host_duty::in_service)
    return refuse(
      "unchanged",
      "the host " + in_quotes(p.host.value) + " is " + std::string{words_of(p.duty)} + " already"
    );
  auto next = *row;
  next.standing = standing_decided{p.duty, p.reason, c.author, c.now, c.seq};
  c.put(std::move(next));
  return {};
}

std::string_view words_of(host_duty d) {
  return words[static_cast<std::size_t>(d)];
}

host_duty duty_of(const tables& t, const host_id& host) {
  auto* row = find(t.identities, host.value);
  return row && row->standing ? row->standing->duty : host_duty::in_service;
}

std::string why_kept(const tables& t, const host_id& host) {
  auto* row = find(t.identities, host.value);
  if (!row || !is_kept(*row))
    return {};
  const auto& s = *row->standing;
  return "host " + host.value + " is " + std::string{words_of(s.duty)} + " since "
         + time_text(s.since) + ", by " + s.author + ": " + s.reason;
}

wall_ms decided_at(const tables& t, const host_id& host) {
  auto* row = find(t.identities, host.value);
  return row && row->standing ? row->standing->since : wall_ms{};
}

std::map<host_id, pool::kept_host> kept_hosts(const tables& t) {
  std::map<host_id, pool::kept_host> kept;
  for (const auto& [name, row] : *t.identities)
    if (is_kept(row))
      kept[host_id{name}] = {
        row.standing->duty == host_duty::quarantined, why_kept(t, host_id{name})};
  return kept;
}

std::vector<std::string> kept_lines(const tables& t, const std::set<pool_id>& pools) {
  std::vector<std::string> lines;
  for (const auto& [name, row] : *t.identities)
    if (is_kept(row) && could_run_for(row, pools))
      lines.push_back(why_kept(t, host_id{name}));
  return lines;
}

result<std::vector<cited_standing>, problem>
standings_at(const chronicle& c, std::uint64_t seq, const std::set<pool_id>& pools) {
  std::vector<cited_standing> found;
  for (const auto& [name, row] : *c.now().identities) {
    if (!row.standing || !could_run_for(row, pools))
      continue;
    if (found.size() == standings_most)
      break;
    auto last = first_of<host_standing>(record_walk{
      c, subject_of("host_standing", name), seq, direction::older});
    if (!last)
      return unexpected{last.error()};
    if (!*last)
      continue;
    const auto& said = std::get<host_standing>((*last)->record.payload);
    if (said.duty != host_duty::in_service)
      found.push_back({said.host, said.duty, said.reason, cite(**last)});
  }
  return found;
}

} // namespace assay::ledger
