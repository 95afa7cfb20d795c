#pragma once
// The coordinator's end of the fabric: one thread that owns the ROUTER and ZAP sockets.
//
// Promises: only keys on the allow-list get in; who speaks is decided by the key, never by what is
// said; after `replace_allow_list` returned no message of a removed key is delivered (a delivery
// that was under way may end); the newest session of a key is the only one heard; a peer that is
// silent or does not take what is sent to it is given up alone; while its coordinator does not lead
// it has no sessions and tells everybody who does. It never blocks on a peer, never decides what a
// message means, and never shows a secret.

#include "src/base/limits.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/fabric/curve_keys.hpp"
#include "src/wire/fabric_messages.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

namespace assay::fabric {

/// An `agent` says everything but `join`; a `joiner` says `join` and nothing else.
enum class role : std::uint8_t { agent, joiner };

struct admitted {
  public_key key;
  host_id identity; ///< Of an agent. A joiner has none yet.
  fabric::role role = fabric::role::agent;
};

enum class down_reason : std::uint8_t {
  silent,       ///< Nothing heard for peer_silence.
  disconnected, ///< Its connection ended.
  slow,         ///< Did not take what was sent to it.
  superseded,   ///< A newer session of the same identity.
  revoked,      ///< No longer on the allow-list.
  not_leading,  ///< This coordinator no longer leads, or leads anew in another epoch.
  stopped,      ///< The hub ends.
};

std::string_view name(down_reason reason);

/// A holder of a join token asks to become a host or a member. Answer with `hub::answer`.
struct join_request {
  std::uint64_t number = 0; ///< Names the request to `answer`.
  public_key token;         ///< Public half of the token.
  std::string name;         ///< Checked for form, not for being free.
  public_key key;
  std::optional<joining_member> member; ///< Checked for form. Nothing: a host asks.
};

/// Where this coordinator stands among the others. Alone, it leads.
struct standing {
  bool leads = true;
  std::uint64_t epoch = 0;                  ///< That welcomes and heartbeats carry.
  std::vector<coordinator_at> coordinators; ///< All that may lead; empty: agents are not told.
  std::optional<coordinator_at> leader;     ///< While another one leads, if it is known.

  friend bool operator==(const standing&, const standing&) = default;
};

/// All are called on the hub's thread, must not block, and may call `send`, `answer` and
/// `replace_allow_list`. For one identity the order is peer_up, message..., peer_down. They may
/// come before `hub::start` has returned; start with an empty allow-list to have the hub in hand
/// first.
struct hub_events {
  std::function<void(const host_id&, const hello&)> peer_up;
  std::function<void(const host_id&, agent_message)> message;
  std::function<void(const host_id&, down_reason)> peer_down;
  std::function<void(const join_request&)> join;
};

struct hub_options {
  std::string listen = "127.0.0.1:0"; ///< `HOST:PORT`; port 0 takes a free one.
  key_pair keys;
  std::vector<admitted> allow_list;
  fabric::standing standing;
  std::chrono::milliseconds heartbeat_every = limits::heartbeat_every;
  std::chrono::milliseconds peer_silence = limits::peer_silence;
  std::size_t peer_queue_bytes = limits::peer_queue_bytes;
};

/// Since the start; every drop has its own count.
struct hub_counters {
  std::uint64_t received = 0; ///< Frames that reached the thread.
  std::uint64_t delivered = 0;
  std::uint64_t sent = 0;
  std::uint64_t keys_refused = 0;    ///< Handshakes that ZAP turned away.
  std::uint64_t dropped_key = 0;     ///< From a key that is no longer allowed.
  std::uint64_t dropped_session = 0; ///< Without a hello, or of an old session.
  std::uint64_t dropped_malformed = 0;
  std::uint64_t dropped_too_large = 0;
  std::uint64_t dropped_unknown_kind = 0;
  std::uint64_t dropped_role = 0; ///< A joiner that said something else, an agent that said join.
  std::uint64_t peers_cut_slow = 0;
  std::uint64_t peers_lost_silent = 0;
  std::uint64_t sends_refused = 0; ///< To a peer that is not there, or past a limit.
};

enum class send_outcome : std::uint8_t {
  queued,    ///< On its way, if the peer stays.
  too_large, ///< More than limits::message_bytes.
  full,      ///< The hub's own queue is full.
};

class hub {
public:
  /// Binds, then proves that a key nobody allowed is turned away; refuses to start when it is not.
  static result<std::unique_ptr<hub>, problem> start(hub_options options, hub_events events);

  /// Says `closing` to all peers and waits for the thread. Calls peer_down for each.
  ~hub();
  hub(const hub&) = delete;
  hub& operator=(const hub&) = delete;

  // From any thread:

  /// To a peer that is not up the message is dropped and counted.
  send_outcome send(const host_id& peer, const coordinator_message& message);

  void replace_allow_list(std::vector<admitted> allow_list);

  /// When it ceases to lead, or leads in another epoch, every session ends with `not_leading` and
  /// every join that waits is sent to the leader. Agents with a session are told of other
  /// coordinators.
  void set_standing(standing now);

  /// Only the first answer to a request is sent. One that accepts names the coordinators of the
  /// standing, unless it names others.
  void answer(std::uint64_t join_number, const joined& outcome);

  /// Listens anew where it did, with other keys: every session ends with `stopped`, and what is
  /// said meanwhile is dropped. When it cannot, it listens no more until a call that can. One
  /// caller at a time, not from an event.
  result<void, problem> change_keys(const key_pair& keys);

  /// `HOST:PORT` as bound.
  const std::string& address() const { return address_; }
  public_key key() const;
  hub_counters counters() const; ///< Since the start, or the last change of keys.

private:
  class thread;
  hub(hub_options options, hub_events events, std::unique_ptr<thread> worker);

  const hub_events events_;
  const std::string address_;
  mutable std::shared_mutex mutex_;
  hub_options options_;            ///< With the newest allow-list and standing.
  std::unique_ptr<thread> worker_; ///< Null while the keys are being changed.
};

} // namespace assay::fabric
