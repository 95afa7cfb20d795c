#include "src/app/group_plan.hpp"

#include <algorithm>

namespace assay::app {

namespace {

const ledger::member* find(const std::vector<ledger::member>& in, std::uint64_t id) {
  auto at = std::ranges::find(in, id, &ledger::member::id);
  return at == in.end() ? nullptr : &*at;
}

/// Whoever waits for a vote, beginning behind the one that was tried last.
std::optional<std::uint64_t>
next_voter(const std::vector<ledger::member>& wanted, const group_now& now) {
  std::optional<std::uint64_t> first, behind;
  for (const auto& m : wanted) {
    const auto* is = consensus::find_member(now.members, m.id);
    auto waits = m.voter && is && is->role != consensus::member_role::voter;
    if (!waits || !now.is_reached(m.id))
      continue;
    if (!first)
      first = m.id;
    if (!behind && m.id > now.last_promoted)
      behind = m.id;
  }
  return behind ? behind : first;
}

} // namespace

std::optional<consensus::membership_change>
next_change(const std::vector<ledger::member>& wanted, const group_now& now) {
  for (const auto& m : now.members)
    if (!find(wanted, m.id) && m.id != now.self)
      return consensus::remove_member{m.id};
  if (!now.is_settled)
    return {};
  for (const auto& m : wanted) {
    if (consensus::find_member(now.members, m.id))
      continue;
    consensus::member newcomer{m.id, m.address};
    if (m.voter)
      return consensus::add_spare{newcomer};
    return consensus::add_standby{newcomer};
  }
  if (auto id = next_voter(wanted, now))
    return consensus::promote{*id};
  return {};
}

} // namespace assay::app
