#pragma once
// Who may speak on the fabric and who is speaking, as values.
//
// A session is one connection of one identity, begun by a hello. The newest session number of an
// identity is the only one that is heard; a message is heard only while its key is on the
// allow-list. Nothing here reads a clock or a socket; src/fabric/hub.cpp asks and acts.

#include "src/base/clock.hpp"
#include "src/fabric/hub.hpp"

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace assay::fabric {

class allow_list {
public:
  allow_list() = default;
  explicit allow_list(std::vector<admitted> entries);

  const admitted* find(const public_key& key) const;

private:
  std::map<public_key, admitted> entries_;
};

struct peer_session {
  std::string routing; ///< What the ROUTER calls the connection.
  public_key key;
  host_id identity;
  std::uint64_t number = 0;
  steady_time heard;
  std::deque<std::string> waiting; ///< Not yet taken by libzmq, oldest first.
  std::size_t waiting_bytes = 0;
};

struct ended_session {
  host_id identity;
  std::string routing;
  down_reason reason = down_reason::silent;
};

class roster {
public:
  roster(std::chrono::milliseconds peer_silence, std::size_t peer_queue_bytes);

  /// Ends the sessions whose key is no longer allowed, or allowed as somebody else.
  std::vector<ended_session> replace(allow_list allowed);

  /// The entry of a key at this moment; nothing when it may not speak.
  const admitted* find(const public_key& key) const { return allowed_.find(key); }

  struct greeting {
    bool admitted = false;
    closing refusal;                       ///< When not admitted.
    std::optional<ended_session> replaced; ///< The older session that this one ended.
  };

  /// `key` must be allowed as an agent.
  greeting
  greet(const std::string& routing, const public_key& key, const hello& said, steady_time now);

  /// The session that a frame belongs to, now heard; nothing when it belongs to none.
  const peer_session* hear(const std::string& routing, const public_key& key, steady_time now);

  /// Ends the sessions of which nothing was heard for longer than peer_silence.
  std::vector<ended_session> lapse(steady_time now);

  std::optional<ended_session> end(const host_id& identity, down_reason reason);

  peer_session* find_session(const host_id& identity);

  /// False when the peer has too many bytes waiting: cut it.
  bool put(peer_session& to, std::string bytes) const;
  void taken(peer_session& from) const; ///< The oldest waiting message left.

  template <class Visit>
  void each(Visit visit) {
    for (auto& [identity, session] : sessions_)
      visit(session);
  }

  std::size_t size() const { return sessions_.size(); }

private:
  std::chrono::milliseconds peer_silence_;
  std::size_t peer_queue_bytes_;
  allow_list allowed_;
  std::unordered_map<host_id, peer_session> sessions_;
  std::unordered_map<std::string, host_id> by_routing_;
};

/// Join requests that nobody has answered yet; at most one per token.
class join_desk {
public:
  enum class outcome : std::uint8_t {
    asked,    ///< New: hand it to whoever decides.
    repeated, ///< The same again, over a newer connection: wait.
    busy,     ///< Too many wait, or the token is asked for by somebody else.
  };

  struct receipt {
    join_desk::outcome outcome = outcome::busy;
    std::uint64_t number = 0;
  };

  receipt
  ask(const public_key& token, const std::string& routing, const join& said, steady_time now);

  /// The connection that waits for this answer; a second call finds nothing.
  std::optional<std::string> take(std::uint64_t number);

  /// Forgets all that wait; their connections, to be told so.
  std::vector<std::string> take_all();

  /// Forgets what has waited longer than limits::join_patience.
  void lapse(steady_time now);

private:
  struct request {
    std::uint64_t number = 0;
    std::string routing;
    join said;
    steady_time asked;
  };
  std::map<public_key, request> waiting_;
  std::uint64_t last_number_ = 0;
};

} // namespace assay::fabric
