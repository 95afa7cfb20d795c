#pragma once
// A POOL LINK is a pool of another process, the leader's, as INGRESS sees it: what INGRESS sends it
// goes there, and what the pool says comes to INGRESS as the link's own word.
//
// It keeps nothing but the last view. What cannot be sent is lost: INGRESS reports again by itself,
// and asks again when another link takes this one's place, as happens each time that the way to the
// leader was broken.

#include "actors/interfaces_peers.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <memory>

namespace assay {

/// Sends to the one process that a link stands for.
using peer_sender = std::function<peers::send_outcome(const peers::message&)>;

struct pool_link_options {
  pool_id pool;
  std::uint64_t epoch = 0;
  ingress_id name;       ///< Of our ingress,
  ingress_actor ingress; ///< which is this one.
  peer_sender say;
};

class pool_link_state {
public:
  static constexpr auto name = "pool-link";

  explicit pool_link_state(pool_link_actor::pointer self) : self_{self} {}

  void begin(pool_link_options options);
  void pass_on(const pool::event& what);
  void add(const listen_to_pool& what);
  pool_changed look() const;
  void hear(const peers::pool_state& what);
  void hear(const peers::lease& what);
  void hear(const peers::ticket_admit& what);
  void hear(const peers::ticket_refuse& what);

private:
  void say(const pool::ingress_reported& what);
  void say(const pool::ticket_asked& what);
  void say(const pool::ticket_withdrawn& what);
  template <class Other>
  void say(const Other&) {} // Hosts and replicas report to the leader themselves.

  pool_link_actor::pointer self_;
  pool_link_options options_;
  std::vector<pool_listener> listeners_;
  std::shared_ptr<const pool::pool_view> view_;
};

pool_link_actor::behavior_type pool_link_behavior(
  pool_link_actor::stateful_pointer<pool_link_state> self, pool_link_options options
);

} // namespace assay
