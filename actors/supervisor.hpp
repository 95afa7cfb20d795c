#pragma once
// The SUPERVISOR makes what comes and goes: a POOL COORDINATOR for each declared pool, a NODE LINK
// for each agent.
//
// It introduces them to each other and to the INGRESS, by SERVICE LINKS where there are other
// assayd, and takes no part in what they say. It serves one epoch. An actor
// of these, or one that it was handed, that ends by itself is a bug: the SUPERVISOR ends the
// process with its name, and whoever runs assayd starts it anew from the ledger.

#include "actors/interfaces_peers.hpp"
#include "actors/node_link.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace assay {

struct supervisor_options {
  ledger_actor ledger;
  ingress_actor ingress;
  std::vector<pool_listener> pool_listeners; ///< Beside the ingress: EVALUATOR, MOVER, JOB QUEUE.
  agent_sender send;
  std::function<void(const std::string& why)> stop_process;

  // In a group of several:
  std::uint64_t epoch = 0;       ///< In which this assayd leads; 0: that of the first tables.
  service_links_actor service{}; ///< Gives INGRESS its pools; none: SUPERVISOR does.
  /// Every ingress of the group. Asked when a pool is made: they may hold leases of an earlier
  /// epoch.
  std::function<std::vector<ingress_id>()> ingresses{};
};

class supervisor_state {
public:
  static constexpr auto name = "supervisor";

  explicit supervisor_state(supervisor_actor::pointer self) : self_{self} {}

  void begin(supervisor_options options);
  void learn(const tables_changed& what);
  void meet(const agent_up& what);
  void hear(from_agent& what);
  void lose(const agent_down& what);
  parts_answer parts() const;

private:
  struct linked {
    node_link_actor link;
    std::uint64_t session = 0;
  };

  void end();
  void add_pool(const pool_id& id);
  void drop_missing_pools();
  void introduce_pools();
  std::uint64_t epoch() const;
  template <class Handle>
  void watch(const Handle& who, std::string called);

  supervisor_actor::pointer self_;
  supervisor_options options_;
  tables_changed tables_;
  std::map<pool_id, pool_actor> pools_;
  std::map<host_id, linked> links_;
  std::map<caf::actor_addr, std::string> watched_; ///< What each is called.
};

supervisor_actor::behavior_type supervisor_behavior(
  supervisor_actor::stateful_pointer<supervisor_state> self, supervisor_options options
);

} // namespace assay
