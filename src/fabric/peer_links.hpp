#pragma once
// The links between coordinators: one thread that owns every socket to and from its peers.
//
// Each coordinator dials every other one once per lane, and speaks only on what it dialled; what
// others dialled it hears. So consensus, service and bulk never share a queue or a connection.
//
// Promises: only keys of the registry get in; who speaks is decided by the key; after `set_peers`
// returned nothing of a removed key is delivered (a delivery that was under way may end), and what
// we dialled to it is closed. On one lane messages arrive in order or not at all. Unsent bytes per
// peer and lane are bounded: what does not fit is dropped and counted, never queued without bound;
// who sends says it again. Each message has passed src/wire/peer_checks.hpp. It
// never blocks on a peer and never decides what a message means.
//
// It has the hub's parts (keys, ZAP, sockets, lines, redialling) and not the hub itself: a hub only
// answers those who dial it, and its sessions, budgets and messages are an agent's.

#include "src/base/peer_limits.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/fabric/curve_keys.hpp"
#include "src/wire/peer_messages.hpp"

#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

namespace assay::peers {

/// Another coordinator as the registry has it.
struct peer {
  std::uint64_t node = 0;
  std::string address; ///< `HOST:PORT`
  fabric::public_key key;
  std::string disk; ///< Empty: the first disk that speaks for this node is the one.

  friend bool operator==(const peer&, const peer&) = default;
};

/// Who we are.
struct identity {
  uuid cluster;
  std::uint64_t node = 0;
  std::string disk;
  std::uint32_t schema_version = 0; ///< Of the ledger.
};

struct link_options {
  std::string listen = "127.0.0.1:0"; ///< `HOST:PORT`; port 0 takes a free one.
  fabric::key_pair keys;
  identity self;
  std::vector<peer> peers;
  std::size_t consensus_bytes = limits::peer_consensus_bytes; ///< Unsent, per peer.
  std::size_t bulk_bytes = limits::peer_bulk_bytes;           ///< Unsent, per peer.
  std::size_t service_bytes = limits::peer_service_bytes;     ///< Unsent, per peer.
  std::chrono::milliseconds heartbeat_every = limits::member_beat_every;
  std::chrono::milliseconds peer_silence = limits::member_silence;
  std::chrono::milliseconds retry_first = limits::redial_first;
  std::chrono::milliseconds retry_most = limits::redial_most;
};

/// All are called on the links' thread and must not block; they may call `send` and `set_peers`.
/// They may come before `start` has returned; start without peers to have the links in hand first.
struct link_events {
  /// Anything but hello and its answers, of the coordinator that holds the key.
  std::function<void(std::uint64_t node, message)> message;
  /// What is sent to `node` on this lane now reaches it.
  std::function<void(std::uint64_t node, lane)> up;
  /// It does not; after `up`, or for an attempt that failed. Dialling goes on by itself.
  /// `forbidden`: it is there and does not let us in.
  std::function<void(std::uint64_t node, lane, const problem&)> down;
  /// A peer said hello and was let in: its disk and schema version.
  std::function<void(const hello&)> greeted;
  /// Something of a peer was refused: a hello, or a message that failed its checks. `forbidden`:
  /// who says this hello is not let in, however often it asks.
  std::function<void(std::uint64_t node, const problem&)> refused;
};

/// Since the start; every drop has its own count.
struct link_counters {
  std::uint64_t received = 0; ///< Frames that reached the thread.
  std::uint64_t delivered = 0;
  std::uint64_t sent = 0;
  std::uint64_t keys_refused = 0;   ///< Handshakes that ZAP turned away.
  std::uint64_t hellos_refused = 0; ///< Another cluster, node, disk or protocol, or an old session.
  std::uint64_t dropped_key = 0;    ///< From a key that is no longer in the registry.
  std::uint64_t dropped_session = 0; ///< Without a hello, or on a superseded connection.
  std::uint64_t dropped_invalid = 0; ///< Failed its checks, or on the wrong lane.
  std::uint64_t dropped_unknown_kind = 0;
  std::uint64_t sends_down = 0;    ///< To a peer that is unknown or not up.
  std::uint64_t sends_full = 0;    ///< Past the peer's budget.
  std::uint64_t sends_invalid = 0; ///< Our own message failed its checks or fits no frame.
  std::uint64_t waiting_bytes = 0; ///< Now, all peers and lanes together.
};

enum class send_outcome : std::uint8_t {
  queued,  ///< On its way, if the connection stays.
  down,    ///< Not a peer, or not reachable now; dropped.
  full,    ///< The peer's budget is used up; dropped.
  invalid, ///< The message fails its checks or fits no frame; dropped.
};

class peer_links {
public:
  /// Binds, then proves that a key nobody allowed is turned away; refuses to start when it is not.
  static result<std::unique_ptr<peer_links>, problem>
  start(link_options options, link_events events);

  /// Says `closing` to all who dialled us and waits for the thread.
  ~peer_links();
  peer_links(const peer_links&) = delete;
  peer_links& operator=(const peer_links&) = delete;

  // From any thread:

  send_outcome send(std::uint64_t to, const message& what);

  /// The whole registry without ourselves. An entry that cannot be (our own id or key, a second
  /// entry of one id or key, an address that cannot be dialled) is left out, and its problem told.
  std::vector<problem> set_peers(std::vector<peer> peers);

  /// Listens anew where it did and dials anew, with other keys; every way that was up is told
  /// `down`. When it cannot, nothing is sent or heard until a call that can. One caller at a time,
  /// not from an event.
  result<void, problem> change_keys(const fabric::key_pair& keys);

  /// `HOST:PORT` as bound.
  const std::string& address() const { return address_; }
  link_counters counters() const; ///< Since the start, or the last change of keys.

private:
  class thread;
  peer_links(link_options options, link_events events, std::unique_ptr<thread> worker);

  const link_events events_;
  const std::string address_;
  mutable std::shared_mutex mutex_;
  link_options options_;           ///< With the newest peers.
  std::unique_ptr<thread> worker_; ///< Null while the keys are being changed.
};

} // namespace assay::peers
