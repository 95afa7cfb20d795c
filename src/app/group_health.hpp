#pragma once
// How the group stands as seen from one member, in words. Pure.

#include "src/app/group.hpp"

#include <string>
#include <vector>

namespace assay::app {

struct member_health {
  ledger::member member;
  std::string role;  ///< leader, voter, catching up, ingress, leaving
  std::string state; ///< here, up, away; refused, damaged, full: there, and of less use
  std::string why;   ///< Why it is not simply there, and what to do.
  std::optional<std::int64_t> clock_offset_ms; ///< Its clock less ours, once it was told.
  std::chrono::milliseconds sync{0};           ///< Of its disk, as it said last.
};

struct group_health {
  std::vector<member_health> members; ///< As the ledger names them, then who is leaving.
  std::size_t voters = 0;             ///< Of consensus.
  std::size_t reached = 0;            ///< Of those, from here, ourselves included.
  std::size_t needed = 0;             ///< A majority.
  std::string leader;                 ///< Its name; empty: nobody is known to lead.
  std::string waits;                  ///< Why no member can come or go now; else empty.
  std::string problem;                ///< For a person, with what to do; empty: there is none.
};

/// Whether the ledger named this member and does so no more.
bool is_removed(const ledger::head_row& head, std::uint64_t self);

/// Whose disks keep the leader from taking more than what undoes, by name: so many voters are away
/// or have room for nothing else that no majority has. Empty: enough have room. What is away for
/// another reason alone is a matter of the quorum.
std::string room_fault_of(
  const ledger::head_row& head,
  const store::engine_status& now,
  const std::map<std::uint64_t, member_seen>& seen
);

/// Who should lead instead of us, whose disk is short of room; 0: it is not, or another one would
/// be no better off.
std::uint64_t
roomy_voter(const store::engine_status& now, const std::map<std::uint64_t, member_seen>& seen);

group_health health_of(
  const ledger::head_row& head,
  const store::engine_status& now,
  const std::map<std::uint64_t, member_seen>& seen
);

} // namespace assay::app
