#include "src/app/group_health.hpp"

#include <algorithm>

namespace assay::app {

namespace {

using consensus::member_role;

std::string name_of(const std::vector<ledger::member>& named, std::uint64_t id) {
  auto at = std::ranges::find(named, id, &ledger::member::id);
  return at == named.end() ? "node " + std::to_string(id) : at->name;
}

std::string role_of(const ledger::member& m, const store::engine_status& now) {
  const auto* is = consensus::find_member(now.members, m.id);
  if (now.leader_id == m.id)
    return "leader";
  if (!m.voter)
    return "ingress";
  return is && is->role == member_role::voter ? "voter" : "catching up";
}

void add_to(std::string& list, const std::string& name) {
  list += (list.empty() ? "" : ", ") + name;
}

/// Who votes and can be reached from here, and who cannot.
struct reach {
  std::string reached, away;
  std::size_t count = 0;
};

reach reach_of(
  const std::vector<ledger::member>& named,
  const store::engine_status& now,
  const std::map<std::uint64_t, member_seen>& seen
) {
  reach out;
  for (const auto& m : now.members) {
    if (m.role != member_role::voter)
      continue;
    auto found = seen.find(m.id);
    auto is_here = m.id == now.server_id || (found != seen.end() && found->second.is_up);
    out.count += is_here;
    add_to(is_here ? out.reached : out.away, name_of(named, m.id));
  }
  return out;
}

/// Who has its vote from the newest change and is away cannot store it, and the leader changes
/// nothing else before that. One that is up stores it in a moment.
std::string waits_of(const std::vector<member_health>& all, const store::engine_status& now) {
  for (const auto& m : all)
    if (m.member.id == now.awaited_member && m.state == "away")
      return m.member.name
             + " got its vote last and is away: until it has stored that, no other member can "
               "come, "
               "get a vote or go. Bring it back, or: assay cluster remove "
             + m.member.name + " --reason \"it does not come back\"";
  return {};
}

constexpr auto removed =
  "this assayd was removed from the cluster and takes no part any more; stop it, or give it an "
  "empty data directory and join anew";

constexpr auto shut_out =
  "the other coordinators are there and do not let this one in: it was removed, or its key was "
  "revoked. If so, stop it, or give it an empty data directory and join anew";

/// Who was removed while it was away has no record that says so.
bool is_shut_out(
  const store::engine_status& now, const std::map<std::uint64_t, member_seen>& seen
) {
  std::size_t others = 0;
  for (const auto& m : now.members) {
    if (m.id == now.server_id || m.role != member_role::voter)
      continue;
    auto found = seen.find(m.id);
    if (found == seen.end() || !found->second.is_closed_to_us)
      return false;
    ++others;
  }
  return others > 0 && now.leader_id == 0;
}

bool is_removed(const ledger::head_row& head, std::uint64_t self) {
  return self <= head.last_member
         && std::ranges::find(head.members, self, &ledger::member::id) == head.members.end();
}

std::string problem_of(const group_health& h, const reach& r, const store::engine_status& now) {
  if (now.leader_id != 0)
    return {};
  if (h.voters == 0)
    return "no coordinator has said yet who is in the group; it is dialled again and again";
  auto counts = std::to_string(r.count) + " of " + std::to_string(h.voters)
                + " voting coordinators can be reached from here (" + r.reached + ")";
  if (r.count >= h.needed)
    return "nobody leads yet: " + counts + ", and an election is under way";
  return "the quorum is lost: " + counts + ", and " + std::to_string(h.needed)
         + " are needed. Nothing is decided until then; ingresses go on with what they know. Start "
           "assayd again where it is away ("
         + r.away
         + "), or mend the network between. Only when their disks are lost for good: restore a "
           "backup on one node (docs/cluster.md)";
}

} // namespace

group_health health_of(
  const ledger::head_row& head,
  const store::engine_status& now,
  const std::map<std::uint64_t, member_seen>& seen
) {
  const auto& named = head.members;
  group_health out;
  auto add = [&](const ledger::member& m, std::string role) {
    auto found = seen.find(m.id);
    auto is_up = found != seen.end() && found->second.is_up;
    out.members.push_back(
      {m,
       std::move(role),
       m.id == now.server_id ? "here"
       : is_up               ? "up"
                             : "away",
       is_up || found == seen.end() ? "" : found->second.why,
       found == seen.end() || found->second.clock_told == steady_time{}
         ? std::optional<std::int64_t>{}
         : found->second.clock_offset_ms,
       is_up ? found->second.sync : std::chrono::milliseconds{0}}
    );
  };
  for (const auto& m : named)
    add(m, role_of(m, now));
  for (const auto& m : now.members)
    if (std::ranges::find(named, m.id, &ledger::member::id) == named.end())
      add({.id = m.id, .name = name_of(named, m.id), .address = m.address}, "leaving");
  out.waits = waits_of(out.members, now);
  auto r = reach_of(named, now, seen);
  out.voters = consensus::voters_of(now.members);
  out.reached = r.count;
  out.needed = out.voters / 2 + 1;
  if (now.leader_id != 0)
    out.leader = name_of(named, now.leader_id);
  out.problem = is_removed(head, now.server_id) ? removed
                : is_shut_out(now, seen)        ? shut_out
                                                : problem_of(out, r, now);
  return out;
}

} // namespace assay::app
