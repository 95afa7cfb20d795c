#pragma once
// What a run is made of: how many members, what kind of network, which faults, and what is switched
// off. Everything else comes from the seed.

#include "src/consensus/guards.hpp"

#include <cstdint>

namespace assay::simulation {

/// Lanes keep order and lose what was under way when they break; datagrams do as they like.
enum class network_kind : std::uint8_t { lanes, datagrams };

/// Mistakes a driver could make: each must be found.
struct mistakes {
  bool retries_after_error = false; ///< A second sync after a failed one succeeds, falsely.
  bool saves_index_alone = false;   ///< The applied index is synced before its rows.
  bool forgets_vote = false;        ///< Term and vote are not stored.
  bool replaces_log_first = false;  ///< A fetched state is stored behind the log that ends there.
  bool answers_early = false;       ///< A proposal is acknowledged when its own disk has it.
};

struct profile {
  unsigned members = 3;
  network_kind network = network_kind::lanes;
  unsigned loss = 10;      ///< Per mille of messages, or of chances that a lane breaks.
  unsigned duplicates = 0; ///< Per mille.
  unsigned late = 5;       ///< Per mille delayed by up to two seconds.
  /// Copies of each refusal of entries, which come up to half a second late. Only of datagrams.
  unsigned refusal_copies = 0;
  /// Per mille of snapshots offered after which their lane stands still for two to five seconds.
  unsigned late_offers = 0;
  bool is_hostile = false; ///< Forged messages from a member's key.
  bool changes_members = false;
  bool has_disk_faults = true;
  bool has_crashes = true;
  std::uint64_t trailing = 40;
  std::uint64_t chaos_ms = 6'000;
  std::uint64_t calm_ms = 30'000; ///< Within it all must agree again.
  unsigned interrupted = 0;       ///< Per mille of a member's steps that something befalls.
  unsigned rounds = 1;            ///< Of chaos and calm.
  unsigned fault_every_ms = 700;  ///< 0: none of these.
  unsigned deafened_every_ms = 0; ///< A leader does not hear one follower, then loses a word to it.
  unsigned swapped_every_ms = 0;  ///< Leadership goes to another one and comes back.
  bool hands_over_behind = false; ///< In the end to a member that is far behind.
  unsigned clients = 3;
  unsigned think_ms = 60;
  std::uint32_t inflight_entries = 32;
  std::uint64_t clock_seed = 0; ///< Of the members' clocks: `clock_error_ms`.
  consensus::guard_switches guards;
  mistakes made;
};

/// A mixture over seeds: three and five members, both networks, with and without changes.
profile profile_of(std::uint64_t seed);

} // namespace assay::simulation
