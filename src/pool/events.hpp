#pragma once
// What a POOL COORDINATOR is told, and what it asks for.
//
// Late, repeated and reordered events are normal and harmless: reports carry the host's session and
// the replica's generation, and older ones change nothing.

#include "src/base/clock.hpp"
#include "src/base/digest.hpp"
#include "src/base/ids.hpp"
#include "src/contract/contract.hpp"
#include "src/pool/counters.hpp"
#include "src/pool/replica.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace assay::pool {

/// What to launch; two equal launches are interchangeable.
struct launch {
  implementation_id implementation;
  model_id model;
  artifact_id artifact;
  digest manifest; ///< Of the artifact's files.
  profile_id profile;
  digest profile_digest;
  std::uint32_t devices = 0;      ///< Per replica; 0 on a CPU pool.
  std::uint32_t slots = 1;        ///< Requests that one replica works on at a time.
  std::uint64_t memory_bytes = 0; ///< Needed on the host; 0: not stated.
  contract::request_limits limits;
  std::map<std::string, std::string> args;
  bool plaintext = false; ///< It may listen where other hosts reach it, without TLS.

  friend bool operator==(const launch&, const launch&) = default;
};

/// Identity of a launch: an agent echoes it, so that a new leader knows an outdated replica.
digest launch_digest(const launch& l);

struct wanted_implementation {
  pool::launch launch;
  std::uint32_t replicas_min = 1;
  std::uint32_t replicas_max = 1;
  contract::degraded_rule degraded = contract::degraded_rule::keep;
  bool adopted = false; ///< Started by somebody else: never launched by us, only watched; looked
                        ///< for again and again when it ends.
  std::optional<host_id> only_on; ///< The host where an adopted server runs.

  friend bool operator==(const wanted_implementation&, const wanted_implementation&) = default;
};

/// A host on which nothing new is started, as the ledger says.
struct kept_host {
  /// Nothing is sent there, and what runs there stays. Else it ends once nothing of it is in
  /// flight.
  bool quarantined = false;
  std::string why; ///< One clause: who says so, since when, and the reason.

  friend bool operator==(const kept_host&, const kept_host&) = default;
};

// -- events: what happened ----------------------------------------------------------------------

/// The full list; what is missing from it is drained.
struct wanted_changed {
  std::vector<wanted_implementation> implementations;
  /// What other pools run. A host may belong to several: theirs is not ours to stop.
  std::set<implementation_id> elsewhere;
  std::map<host_id, kept_host> kept; ///< Ours or not, here or not.
};

struct host_reported {
  host_id host;
  std::uint64_t session = 0;        ///< The newest wins; an older one is ignored.
  std::vector<std::string> devices; ///< Device ids that are offered and healthy.
  std::uint64_t memory_bytes = 0;   ///< 0: not stated.
  digest fingerprint;
  std::vector<digest> verified; ///< Manifests of artifacts whose files were verified there.
  /// Devices that must not be used, and why; what runs on one is replaced.
  std::map<std::string, std::string> sick;
  /// Generations of the replicas that run there. Nothing new is started before each was reported;
  /// without the list the host is given `limits::host_settles`.
  std::optional<std::vector<std::uint64_t>> running;

  friend bool operator==(const host_reported&, const host_reported&) = default;
};

enum class host_loss : std::uint8_t {
  silent, ///< Its agent says nothing: killed, upgraded, cut off. Its runtimes live on without it.
  left,   ///< It belongs to the pool no more, or was revoked.
};

/// Replicas of a host that left take no traffic from now on. Those of a silent one keep theirs for
/// `limits::unwatched`, in which an agent that was restarted is back; then they wait to be
/// reported.
struct host_lost {
  host_id host;
  std::uint64_t session = 0;
  host_loss how = host_loss::silent;
};

struct replica_reported {
  replica_id replica;
  host_id host;
  std::uint64_t session = 0;
  implementation_id implementation;
  std::uint64_t generation = 0;
  pool::phase phase = phase::absent;
  std::string address; ///< `IP:PORT`, once there is one.
  std::string secret;  ///< Sent with every request to it; never shown.
  digest fingerprint;
  std::uint32_t slots = 0; ///< 0: as launched.
  std::vector<std::string> devices;
  std::optional<digest> launch; ///< `launch_digest` of what runs there, when the agent knows it.
  std::string reason;           ///< Why it is suspect, or how it ended.
  bool was_ordered = false;     ///< It ended because the host was told to end it.
  std::string loopback;         ///< Of its host; empty: not told.
};

/// What an ingress holds and uses. Its first report makes it known. A full list: an endpoint that
/// is not in it is not held.
struct ingress_reported {
  struct holding {
    endpoint_key endpoint;
    std::uint32_t credits = 0;
    std::uint32_t in_flight = 0;
    std::uint64_t finished = 0; ///< Since the ingress made the counters.
    std::uint64_t grant = 0;    ///< Number of the last grant it accepted here; 0: from before.
  };
  ingress_id ingress;
  std::vector<holding> holdings;
  std::vector<std::uint64_t> settled; ///< Tickets that were admitted and are now in flight or over.
  /// Of the newest record that its HTTP threads route by; 0: they have no routes. A pool does not
  /// look at it: SERVICE LINKS tells MOVER.
  std::uint64_t seq = 0;
};

struct ingress_lost {
  ingress_id ingress;
};

struct ticket_asked {
  ingress_id ingress;
  std::uint64_t ticket = 0; ///< Unique at that ingress; asked again after a failed claim, it keeps
                            ///< its place.
  contract::traffic_class traffic = contract::traffic_class::interactive;
  project_id project;
  std::vector<implementation_id> acceptable; ///< Of this pool or not; others are ignored.
  std::vector<endpoint_key> excluded; ///< Tried already, or on a stack that is not qualified.
  steady_time deadline{};
};

struct ticket_withdrawn {
  ingress_id ingress;
  std::uint64_t ticket = 0;
};

/// An operator asks to try again what was given up after repeated crashes.
struct retry_asked {
  implementation_id implementation;
};

/// Time passed; sent at least every `limits::pool_tick`.
struct ticked {};

using event = std::variant<
  wanted_changed,
  host_reported,
  host_lost,
  replica_reported,
  ingress_reported,
  ingress_lost,
  ticket_asked,
  ticket_withdrawn,
  retry_asked,
  ticked>;

// -- effects: what the caller must now do, in order ---------------------------------------------

/// Sent again under a new session until the agent reports the generation; agents treat a known
/// generation as done.
struct start_replica {
  host_id host;
  std::uint64_t session = 0;
  std::uint64_t epoch = 0;
  replica_id replica;
  std::uint64_t generation = 0;
  pool::launch launch;
  std::vector<std::string> devices;
};

/// An agent answers the stop of a generation that it does not know with `gone`.
struct stop_replica {
  host_id host;
  std::uint64_t session = 0;
  std::uint64_t epoch = 0;
  replica_id replica;
  std::uint64_t generation = 0;
  std::string reason;
};

/// Replaces what the ingress holds on this endpoint. `number` grows with every grant and is echoed
/// in `ingress_reported`.
struct grant_lease {
  ingress_id ingress;
  endpoint_key endpoint;
  pool::grant grant;
  std::uint64_t number = 0;
};

struct admit_ticket {
  ingress_id ingress;
  std::uint64_t ticket = 0;
  implementation_id implementation;
  endpoint_key endpoint;
};

enum class ticket_refusal : std::uint8_t { queue_full, waited_too_long, no_replica };

struct refuse_ticket {
  ingress_id ingress;
  std::uint64_t ticket = 0;
  ticket_refusal why = ticket_refusal::queue_full;
  std::chrono::seconds retry_after{1};
  bool measured = false; ///< `retry_after` comes from the service rate seen, not from a default.
};

/// The view changed in a way that the snapshot or a person would see.
struct view_changed {};

using effect =
  std::variant<start_replica, stop_replica, grant_lease, admit_ticket, refuse_ticket, view_changed>;

std::string_view name(ticket_refusal r);

} // namespace assay::pool
