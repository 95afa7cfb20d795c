#pragma once
// Everything an agent and a coordinator say to each other, as values. `schema/fabric.capnp` is the
// form they have on the wire, src/wire/fabric_codec.hpp turns one into the other.
//
// There is one variant per direction. A command that changes a host carries the epoch (the Raft
// term of the coordinator that gave it); an agent refuses commands of an older epoch.

#include "src/base/clock.hpp"
#include "src/base/digest.hpp"
#include "src/base/ids.hpp"
#include "src/base/uuid.hpp"
#include "src/catalog/declarations.hpp"
#include "src/contract/contract.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace assay::fabric {

/// Changes only when an old peer could misunderstand a new one; new fields and members do not
/// count.
inline constexpr std::uint32_t protocol_version = 1;

/// 32 bytes of Curve25519; written as 40 characters of Z85 (src/fabric/curve_keys.hpp).
struct public_key {
  std::array<std::uint8_t, 32> bytes{};

  friend auto operator<=>(const public_key&, const public_key&) = default;
};

/// Where a coordinator's hub is, and the key that it proves itself with.
struct coordinator_at {
  std::string address; ///< `HOST:PORT`
  public_key key;

  friend bool operator==(const coordinator_at&, const coordinator_at&) = default;
};

// -- agent to coordinator ---------------------------------------------------------------------

/// The first message of every session.
struct hello {
  std::uint32_t protocol = protocol_version;
  std::uint64_t session = 0; ///< Grows with every session of one agent; the newest wins.
  std::string boot_id;
  std::string host_name; ///< What the agent calls itself; its identity is its key.
  std::string agent_version;

  friend bool operator==(const hello&, const hello&) = default;
};

struct agent_heartbeat {
  friend bool operator==(const agent_heartbeat&, const agent_heartbeat&) = default;
};

/// Whether a device is there for work.
enum class device_state : std::uint8_t {
  offered,
  withheld, ///< Nothing new: somebody else computes on it, or its library does not answer.
  sick,     ///< Its own word or its driver's: what runs on it is ended.
  lost,     ///< It is on the bus, and its library does not show it.
};

std::string_view name(device_state s);

struct device {
  catalog::family family = catalog::family::cpu;
  std::string id; ///< UUID or PCI address; never an index.
  std::string name;
  std::uint64_t memory_bytes = 0;
  device_state state = device_state::offered;
  std::string why; ///< Of any state but `offered`: the native cause.

  friend bool operator==(const device&, const device&) = default;
};

/// Named fields without port, address, device index, path or secret, and their digest.
struct fingerprint {
  digest sum;
  std::map<std::string, std::string> fields;

  friend bool operator==(const fingerprint&, const fingerprint&) = default;
};

/// The whole of what a host has; sent on connecting and whenever any of it changes.
struct inventory {
  std::vector<device> devices;
  std::uint64_t host_memory_bytes = 0;
  std::uint32_t cpus = 0;
  std::vector<std::string> runtimes; ///< Names of the runtime paths that this host has configured.
  fabric::fingerprint fingerprint;

  friend bool operator==(const inventory&, const inventory&) = default;
};

/// `gone` ended as it was told to; `failed` is any other end, whatever its exit code.
enum class replica_phase : std::uint8_t {
  absent,
  starting,
  loading,
  proving,
  ready,
  saturated,
  suspect,
  draining,
  stopping,
  gone,
  failed
};

struct exit_report {
  bool by_signal = false;
  std::int32_t number = 0; ///< Exit code, or the signal's number.
  std::string meaning;     ///< From the profile's table, the log or the cgroup's counters.

  friend bool operator==(const exit_report&, const exit_report&) = default;
};

/// The whole of what is known of one replica; sent on connecting and on every change.
struct replica_report {
  replica_id replica;
  implementation_id implementation;
  std::uint64_t generation = 0;
  replica_phase phase = replica_phase::absent;
  std::string address;
  std::uint16_t port = 0;
  std::string secret; ///< For requests to the replica; never logged, never in the ledger.
  std::uint32_t slots = 0;
  digest fingerprint; ///< Of the host's stack, the profile, the launch and the engine.
  std::string reason; ///< Why it is in this phase.
  std::optional<exit_report> exit;
  std::string log_tail; ///< At most limits::log_tail_bytes.
  wall_ms started_at;
  bool adopted = false; ///< Somebody else started it.
  std::string engine;   ///< The version that the engine gave; empty: it gave none.
  std::string loopback; ///< `own_loopback` of its host; empty: an older agent, which does not say.
  std::vector<std::string> devices; ///< Ids of those it was started on.

  friend bool operator==(const replica_report&, const replica_report&) = default;
};

enum class artifact_state : std::uint8_t { absent, verifying, verified, mismatched, unreadable };

struct artifact_report {
  artifact_id artifact;
  digest manifest; ///< catalog::manifest_digest of what was checked against.
  artifact_state state = artifact_state::absent;
  std::uint64_t checked_bytes = 0;
  std::uint64_t total_bytes = 0;
  std::string problem; ///< Names the file when the state is `mismatched` or `unreadable`.

  friend bool operator==(const artifact_report&, const artifact_report&) = default;
};

struct unsupported {
  friend bool operator==(const unsupported&, const unsupported&) = default;
};
struct unavailable {
  friend bool operator==(const unavailable&, const unavailable&) = default;
};
struct failed {
  std::int32_t code = 0; ///< The vendor's own.

  friend bool operator==(const failed&, const failed&) = default;
};
/// A text is what the vendor writes where others have a number: `max` for no limit.
using native_value = std::variant<double, unsupported, unavailable, failed, std::string>;

/// A vendor's own metric under its own name and unit; nothing is renamed or rescaled.
struct native_sample {
  catalog::family family = catalog::family::cpu;
  std::string name;
  std::string unit;
  std::string device; ///< A device's id; empty for the host.
  native_value value = unavailable{};
  wall_ms at;                      ///< When it was read.
  std::chrono::milliseconds age{}; ///< How long ago that was for whoever is told.

  friend bool operator==(const native_sample&, const native_sample&) = default;
};

struct native_samples {
  std::vector<native_sample> samples;

  friend bool operator==(const native_samples&, const native_samples&) = default;
};

/// Something that happened to a device, in its vendor's words: an Xid, a RAS error, an NRT code.
struct device_event {
  catalog::family family = catalog::family::cpu;
  std::string device; ///< A device's id; empty: of the host.
  std::string name;   ///< `Xid`
  std::int64_t code = 0;
  std::string text; ///< Raw, as it was logged.
  wall_ms at;

  friend bool operator==(const device_event&, const device_event&) = default;
};

/// The newest ones of a host, oldest first; a full list, at most `limits::device_events`.
struct device_events {
  std::vector<device_event> events;

  friend bool operator==(const device_events&, const device_events&) = default;
};

/// `assay-agent adopt`: a server that somebody else started asks to be taken in.
struct adopt_offer {
  std::string url;
  std::string model;
  profile_id profile;
  project_id project;       ///< Whom it serves until an operator approves.
  std::uint64_t number = 0; ///< The agent's; the outcome repeats it.

  friend bool operator==(const adopt_offer&, const adopt_offer&) = default;
};

/// What a coordinator or a separate ingress that wants to join says of itself.
struct joining_member {
  std::string name;                 ///< The same as the join's.
  std::string peers;                ///< `HOST:PORT` where other members dial it.
  std::string agents;               ///< `HOST:PORT` of its hub; empty: it has none.
  std::string ingress;              ///< `HOST:PORT` of its ingress; empty: it has none.
  std::string signing_public;       ///< Ed25519, 64 hexadecimal digits.
  std::string disk;                 ///< Made with its data directory.
  std::uint32_t schema_version = 0; ///< Of the ledger.
  wall_ms clock;                    ///< Its own, when it asked.

  friend bool operator==(const joining_member&, const joining_member&) = default;
};

/// The only message that a holder of a join token may send.
struct join {
  std::string name;                     ///< Of the host or the member.
  public_key key;                       ///< What it will speak with from then on.
  std::optional<joining_member> member; ///< Nothing: a host joins.

  friend bool operator==(const join&, const join&) = default;
};

using agent_message = std::variant<
  hello,
  agent_heartbeat,
  inventory,
  replica_report,
  artifact_report,
  native_samples,
  adopt_offer,
  join,
  device_events>;

// -- coordinator to agent ---------------------------------------------------------------------

/// Answers `hello`. The agent then sends its inventory and a report of every replica it has.
struct welcome {
  std::uint32_t protocol = protocol_version;
  std::uint64_t epoch = 0;
  std::uint64_t session = 0;
  std::chrono::milliseconds heartbeat_every{};
  host_id identity; ///< What the ledger calls the host that holds this key.

  /// All that may lead. Said again when it changes while a session lasts; empty: not told.
  std::vector<coordinator_at> coordinators;

  friend bool operator==(const welcome&, const welcome&) = default;
};

struct coordinator_heartbeat {
  std::uint64_t epoch = 0;

  friend bool operator==(const coordinator_heartbeat&, const coordinator_heartbeat&) = default;
};

/// What a host must find on its disk before it launches anything.
struct artifact_manifest {
  artifact_id id;
  catalog::artifact_kind kind = catalog::artifact_kind::gguf;
  std::string location;
  std::vector<catalog::artifact_file> files; ///< Sorted by path.

  friend bool operator==(const artifact_manifest&, const artifact_manifest&) = default;
};

struct start_replica {
  std::uint64_t epoch = 0;
  replica_id replica;
  implementation_id implementation;
  model_id model;
  std::uint64_t generation = 0;
  profile_id profile;
  std::string profile_text; ///< As written in the catalog.
  artifact_manifest artifact;
  std::uint32_t slots = 1;
  contract::request_limits limits;
  std::map<std::string, std::string> args; ///< Values for the profile's slots.
  std::vector<std::string> devices;        ///< Ids of the devices leased to the replica.
  bool plaintext_accepted = false; ///< It may listen where other hosts reach it, without TLS.

  friend bool operator==(const start_replica&, const start_replica&) = default;
};

struct stop_replica {
  std::uint64_t epoch = 0;
  replica_id replica;
  std::uint64_t generation = 0;
  std::string reason;
  std::chrono::milliseconds grace{};

  friend bool operator==(const stop_replica&, const stop_replica&) = default;
};

/// Watch a server that somebody else started, as this replica.
struct adopt_replica {
  std::uint64_t epoch = 0;
  replica_id replica;
  implementation_id implementation;
  model_id model;
  std::uint64_t generation = 0;
  profile_id profile;
  std::string profile_text;
  std::string url;
  std::uint32_t slots = 1;

  friend bool operator==(const adopt_replica&, const adopt_replica&) = default;
};

struct verify_artifact {
  std::uint64_t epoch = 0;
  artifact_manifest artifact;

  friend bool operator==(const verify_artifact&, const verify_artifact&) = default;
};

/// Start nothing new on this host (`on`), or take work again. Said at the beginning of each session
/// and on each change.
struct drain_host {
  std::uint64_t epoch = 0;
  bool on = true;
  std::string reason;
  wall_ms decided_at; ///< Not `on`: what happened to devices before is forgiven; 0: nothing is.

  friend bool operator==(const drain_host&, const drain_host&) = default;
};

/// Answers `adopt_offer`.
struct adopt_outcome {
  std::uint64_t number = 0;         ///< Of the offer.
  implementation_id implementation; ///< What it is called from now on; empty: it was not taken.
  std::string what;                 ///< Why not.
  std::string next;                 ///< What to do then.

  friend bool operator==(const adopt_outcome&, const adopt_outcome&) = default;
};

enum class closing_reason : std::uint8_t {
  shutting_down, ///< The coordinator ends; dial again.
  no_session,    ///< Messages came without a hello; begin a new session.
  superseded,    ///< A newer session of the same key exists: two agents use one key.
  revoked,       ///< The key may no longer speak.
  protocol,      ///< The versions do not understand each other.
  not_leader,    ///< Another coordinator leads, or none does yet.
};

struct closing {
  closing_reason reason = closing_reason::shutting_down;
  std::string text;

  // Only with `not_leader`:
  std::optional<coordinator_at> leader;     ///< Who leads, when it is known.
  std::vector<coordinator_at> coordinators; ///< All that may lead; empty: not told.

  friend bool operator==(const closing&, const closing&) = default;
};

struct cluster_member {
  std::uint64_t node = 0;
  std::string name;
  std::string peers; ///< `HOST:PORT`
  public_key key;
  std::string disk;
  bool votes = false;

  friend bool operator==(const cluster_member&, const cluster_member&) = default;
};

/// What a member that was let in has to know.
struct joined_cluster {
  uuid cluster;
  std::string name;
  std::uint64_t node = 0; ///< The new member's own id.
  std::vector<cluster_member> members;

  friend bool operator==(const joined_cluster&, const joined_cluster&) = default;
};

/// Answers `join`.
struct joined {
  bool accepted = false;
  host_id identity; ///< The name it now has; when accepted.
  std::string text; ///< Why not; when refused.

  std::optional<coordinator_at> leader;     ///< When refused: ask this one, with the same token.
  std::vector<coordinator_at> coordinators; ///< When accepted: all that may lead; may be empty.
  std::optional<joined_cluster> cluster;    ///< When a member was accepted.

  friend bool operator==(const joined&, const joined&) = default;
};

using coordinator_message = std::variant<
  welcome,
  coordinator_heartbeat,
  start_replica,
  stop_replica,
  adopt_replica,
  verify_artifact,
  drain_host,
  closing,
  joined,
  adopt_outcome>;

/// The epoch of a command; nothing for messages that are not commands.
std::optional<std::uint64_t> epoch_of(const coordinator_message& message);

} // namespace assay::fabric
