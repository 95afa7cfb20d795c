#pragma once
// The agent's end of the fabric: one thread that keeps a session with the coordinator that leads.
//
// It dials, says hello with a session number that only grows, and begins again on a new socket
// after any cut: a closed connection, a coordinator that fell silent, a key that was refused, a
// coordinator that does not lead (src/fabric/dialling_order.hpp says whom to dial then). What
// was queued when a session ended is dropped, because `connected` makes the agent report all it
// has. Commands of an epoch older than the newest seen are refused and counted. It never blocks the
// caller and never gives up.

#include "src/base/limits.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/fabric/curve_keys.hpp"
#include "src/wire/fabric_messages.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace assay::fabric {

enum class lost_reason : std::uint8_t {
  unreachable,    ///< Nobody answered in time.
  refused,        ///< The coordinator does not allow this key.
  wrong_server,   ///< Somebody answered who does not hold the coordinator's key.
  disconnected,   ///< The connection ended.
  silent,         ///< No heartbeat for peer_silence.
  closed_by_peer, ///< The coordinator said `closing`; its text tells why.
  superseded,     ///< Another agent uses this key.
  not_leader,     ///< The coordinator does not lead; its text says who does.
};

std::string_view name(lost_reason reason);

struct lost_link {
  lost_reason reason = lost_reason::unreachable;
  std::string coordinator; ///< `HOST:PORT`
  std::string text;        ///< For a person: what happened and what to do.
};

/// All are called on the uplink's thread and must not block. `lost` comes once per failed attempt
/// or ended session; `message` only between `connected` and `lost`; `learned` whenever a
/// coordinator that proved its key named others than were known, to be `learned` of the next run.
struct uplink_events {
  std::function<void(const welcome&, const coordinator_at&)> connected;
  std::function<void(coordinator_message)>
    message; ///< Never welcome, heartbeat, closing or joined.
  std::function<void(const lost_link&)> lost;
  std::function<void(const std::vector<coordinator_at>&)> learned;
};

struct uplink_options {
  std::vector<coordinator_at> coordinators; ///< As configured; at least one.
  std::vector<coordinator_at> learned;      ///< By an earlier run; dialled before those.
  key_pair keys;
  std::string boot_id;
  std::string host_name;
  std::string agent_version;
  std::uint64_t epoch = 0; ///< Newest epoch seen by an earlier run; older commands are refused.
  std::chrono::milliseconds peer_silence = limits::peer_silence;
  std::chrono::milliseconds retry_first = limits::redial_first;
  std::chrono::milliseconds retry_most = limits::redial_most;
};

struct uplink_counters {
  std::uint64_t sessions = 0;
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  std::uint64_t dropped_malformed = 0;
  std::uint64_t dropped_unknown_kind = 0;
  std::uint64_t refused_epoch = 0;
};

class uplink {
public:
  /// Fails only on what retrying cannot mend: an address or key that cannot be used.
  static result<std::unique_ptr<uplink>, problem>
  start(uplink_options options, uplink_events events);

  ~uplink();
  uplink(const uplink&) = delete;
  uplink& operator=(const uplink&) = delete;

  /// From any thread. False when there is no session, the message is larger than
  /// limits::message_bytes, or limits::peer_queue_bytes are waiting already.
  [[nodiscard]] bool send(const agent_message& message);

  uplink_counters counters() const;

private:
  class thread;
  explicit uplink(std::unique_ptr<thread> worker);
  std::unique_ptr<thread> worker_;
};

struct joined_host {
  host_id name;                             ///< What the ledger calls it.
  std::vector<coordinator_at> coordinators; ///< All that may lead; at least the one that answered.
};

/// `assay host join TOKEN`: registers `key` under `host_name`. Blocks for at most `patience`, and
/// follows coordinators that name another one, a few times, with the same token.
result<joined_host, problem> join_cluster(
  const join_token& token,
  const std::string& host_name,
  const public_key& key,
  std::chrono::milliseconds patience = limits::join_patience
);

/// The same for a coordinator or a separate ingress, with a token of `assay cluster token`; `key`
/// is that of its hub and its peer links.
result<joined_cluster, problem> join_as_member(
  const join_token& token,
  const joining_member& member,
  const public_key& key,
  std::chrono::milliseconds patience = limits::join_patience
);

} // namespace assay::fabric
