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

struct standing_of {
  std::string state, why;
};

/// One of the others, as it is seen from here.
standing_of standing_in(const member_seen& one, const std::string& name) {
  auto anew = "assay cluster remove " + name + ", empty its data directory, and let it join anew";
  if (!one.refused.empty())
    return {"refused", one.refused + ". It is not counted. If its disk is lost: " + anew};
  if (!one.is_up)
    return {"away", one.why};
  if (one.disk.is_damaged)
    return {
      "damaged",
      "its copy of the ledger does not fit the chain, as it says itself; it takes the leader's "
      "state by itself. When that does not help, replace its disk: "
        + anew};
  if (one.disk.is_full)
    return {
      "full",
      "its ledger's disk has only the room left that is kept for undoing, if any; free some, no "
      "restart is needed"};
  return {"up", {}};
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
    auto is_here = m.id == now.server_id || (found != seen.end() && is_of_use(found->second));
    out.count += is_here;
    add_to(is_here ? out.reached : out.away, name_of(named, m.id));
  }
  return out;
}

/// Who has its vote from the newest change and is away cannot store it, and the leader changes
/// nothing else before that. One that is up stores it in a moment.
std::string waits_of(const std::vector<member_health>& all, const store::engine_status& now) {
  for (const auto& m : all)
    if (m.member.id == now.awaited_member && (m.state == "away" || m.state == "refused"))
      return m.member.name + " got its vote last and is " + m.state
             + ": until it has stored that, no other member can come, get a vote or go. Bring it "
               "back, or: assay cluster remove "
             + m.member.name + " --reason \"it does not come back\"";
  return {};
}

constexpr auto removed =
  "this assayd was removed from the cluster and takes no part any more; stop it, or give it an "
  "empty data directory and join anew";

/// Who has to be there for anything to be decided; without a list of them whoever was dialled.
std::vector<std::uint64_t> those_who_decide(
  const store::engine_status& now, const std::map<std::uint64_t, member_seen>& seen
) {
  std::vector<std::uint64_t> all;
  for (const auto& m : now.members)
    if (m.id != now.server_id && m.role == member_role::voter)
      all.push_back(m.id);
  if (now.members.empty())
    for (const auto& [node, one] : seen)
      all.push_back(node);
  return all;
}

/// Why nobody lets us in; empty while anybody may. Who was removed while it was away has no record
/// that says so, and who has lost its disk none that says who the others are. Either may still hear
/// who leads.
std::string
shut_out(const store::engine_status& now, const std::map<std::uint64_t, member_seen>& seen) {
  std::string why;
  if (now.leader_id == now.server_id)
    return why;
  for (auto node : those_who_decide(now, seen)) {
    auto found = seen.find(node);
    if (found == seen.end() || !found->second.is_closed_to_us)
      return {};
    why = " (" + found->second.why + ")";
  }
  return why.empty() ? why
                     : "the other coordinators are there and do not let this one in: it was "
                       "removed, or its key was revoked, or its disk is another one. If so, stop "
                       "it, or give it an empty data directory and join anew"
                         + why;
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

/// Of those who vote: whose disk has room, and who says that its own has none.
struct room_of {
  std::vector<std::uint64_t> roomy, short_of_it;
};

room_of rooms(const store::engine_status& now, const std::map<std::uint64_t, member_seen>& seen) {
  room_of out;
  for (const auto& m : now.members) {
    if (m.role != member_role::voter)
      continue;
    auto found = seen.find(m.id);
    auto is_self = m.id == now.server_id;
    if (!is_self && (found == seen.end() || !is_of_use(found->second)))
      continue;
    auto is_short = is_self ? now.is_disk_full : found->second.disk.is_full;
    (is_short ? out.short_of_it : out.roomy).push_back(m.id);
  }
  return out;
}

} // namespace

std::string room_fault_of(
  const ledger::head_row& head,
  const store::engine_status& now,
  const std::map<std::uint64_t, member_seen>& seen
) {
  const auto all = rooms(now, seen);
  const auto voters = consensus::voters_of(now.members);
  const auto needed = voters / 2 + 1;
  if (all.short_of_it.empty() || all.roomy.size() >= needed || voters < 2)
    return {};
  std::string names;
  for (auto id : all.short_of_it)
    add_to(names, name_of(head.members, id));
  return std::to_string(all.roomy.size()) + " of " + std::to_string(voters)
         + " voting coordinators can be reached and have room on their disks, and "
         + std::to_string(needed) + " are needed; full but for their reserve: " + names;
}

std::uint64_t
roomy_voter(const store::engine_status& now, const std::map<std::uint64_t, member_seen>& seen) {
  const auto all = rooms(now, seen);
  const auto needed = consensus::voters_of(now.members) / 2 + 1;
  const auto is_better = now.is_leader && now.is_disk_full && all.roomy.size() >= needed;
  return is_better ? all.roomy.front() : 0;
}

bool is_removed(const ledger::head_row& head, std::uint64_t self) {
  return self <= head.last_member
         && std::ranges::find(head.members, self, &ledger::member::id) == head.members.end();
}

group_health health_of(
  const ledger::head_row& head,
  const store::engine_status& now,
  const std::map<std::uint64_t, member_seen>& seen
) {
  const auto& named = head.members;
  const member_seen unseen;
  group_health out;
  auto add = [&](const ledger::member& m, std::string role) {
    auto found = seen.find(m.id);
    const auto& one = found == seen.end() ? unseen : found->second;
    auto stands = m.id == now.server_id ? standing_of{"here", {}} : standing_in(one, m.name);
    out.members.push_back(
      {m,
       std::move(role),
       std::move(stands.state),
       std::move(stands.why),
       one.clock_told == steady_time{} ? std::optional<std::int64_t>{} : one.clock_offset_ms,
       one.is_up ? one.sync : std::chrono::milliseconds{0}}
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
  auto shut = shut_out(now, seen);
  out.problem = is_removed(head, now.server_id) ? removed
                : !shut.empty()                 ? shut
                                                : problem_of(out, r, now);
  return out;
}

} // namespace assay::app
