#pragma once
// The life of one replica.
//
//   absent -> starting -> loading -> proving -> ready <-> saturated
//                            ^  \       ^  \      |  ^        |
//                            |   v      |   v     v  |        v
//                            +--------- suspect <----+--------+
//   any -> draining -> stopping -> gone | failed
//
// `advance` decides; it never acts. The RUNTIME actor turns what happens into events, calls it,
// keeps `next`, and carries out the effects in order. `ready` needs observations in a row and one
// real generation; whatever the profile does not classify makes a replica suspect, never ready. Any
// exit that was not asked for is a failure, whatever its code.

#include "src/base/clock.hpp"
#include "src/wire/fabric_messages.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace assay::agent::life {

using fabric::replica_phase;

/// What does not change while the replica lives.
struct rules {
  std::uint32_t ready_times = 1;   ///< Good observations in a row before the proof.
  std::uint32_t live_failures = 3; ///< Bad ones in a row before a serving replica is suspect.
  std::chrono::milliseconds cold_start{std::chrono::minutes{10}};
  std::chrono::milliseconds suspicion{std::chrono::minutes{1}}; ///< Then a suspect is stopped.
  bool ours = true; ///< false: somebody else's server, which is watched and never stopped.
  /// It ran before this agent did: for the coordinator it is what it was until it has been looked
  /// at, so nothing is reported before.
  bool found = false;
};

// -- states: each holds only what is true in that state ---------------------------------------

struct absent {};
struct starting {};
struct loading {
  steady_time since;
  std::uint32_t good = 0;
};
struct proving {
  steady_time since; ///< Of the loading that led here: the proof counts as cold start.
};
struct ready {
  std::uint32_t bad = 0;
};
struct saturated {
  std::uint32_t bad = 0;
};
struct suspect {
  steady_time since;
  std::uint32_t good = 0;
  std::string why;
};
struct draining {
  steady_time until;
  std::string why;
};
struct stopping {
  std::string why;
  bool failed = false; ///< It is stopped because it did not work.
};
struct gone {
  std::string why;
  bool failed = false;
};
using state = std::
  variant<absent, starting, loading, proving, ready, saturated, suspect, draining, stopping, gone>;

// -- events: what happened --------------------------------------------------------------------

enum class verdict : std::uint8_t {
  good,         ///< The profile's `ready` (or `live`, once it serves).
  loading,      ///< One of the profile's `loading`.
  saturated,    ///< One of the profile's `saturated`.
  unreachable,  ///< Nobody listens, or no answer in time.
  stranger,     ///< The port belongs to a process that is not ours.
  unclassified, ///< An answer that the profile does not know.
};

struct launched {
  steady_time now;
  bool proven = false; ///< Found alive and well, after an earlier agent had its proof.
};
struct launch_failed {
  std::string why;
};
struct sighted {
  steady_time now;
  life::verdict verdict = life::verdict::unclassified;
  std::string detail;            ///< What was seen, for the reason.
  bool progressed = false;       ///< Its token counters moved since the last look.
  std::optional<double> running; ///< Requests it works on, when it says so.
};
struct proved {
  steady_time now;
};
struct proof_failed {
  steady_time now;
  std::string why;
};
struct ended {
  std::string meaning;
};
struct stop_asked {
  steady_time now;
  std::string why;
  std::chrono::milliseconds grace{};
};
struct ticked {
  steady_time now;
};
using event =
  std::variant<launched, launch_failed, sighted, proved, proof_failed, ended, stop_asked, ticked>;

// -- effects: what the caller must now do -----------------------------------------------------

struct launch {};
struct prove {};
struct stop_runtime {};
/// Tell the coordinator; phase or reason changed.
struct report {};
using effect = std::variant<launch, prove, stop_runtime, report>;

struct step {
  state next;
  std::vector<effect> effects;
};

step advance(const rules& rules, const state& current, const event& what);

replica_phase phase_of(const state& s);
std::string_view name(replica_phase phase);
/// Why it is in this phase; empty when there is nothing to say.
std::string reason_of(const state& s);
/// False while the coordinator knows better than we do.
bool is_told(const rules& rules, const state& s);
/// True in the phases in which an engine can be asked something.
bool is_observed(const state& s);

} // namespace assay::agent::life
