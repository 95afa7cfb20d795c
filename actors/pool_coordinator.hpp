#pragma once
// A POOL COORDINATOR runs one pool: it feeds src/pool/coordinator.hpp with what is reported and
// carries out what that decides. Hosts and ingresses introduce themselves; effects go back to them.

#include "actors/interfaces.hpp"
#include "src/pool/coordinator.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <map>
#include <optional>
#include <vector>

namespace assay {

struct pool_options {
  pool_id pool;
  std::uint64_t epoch = 0;
  std::vector<ingress_id> may_hold; ///< Ingresses that may hold leases of an earlier epoch.
};

class pool_state {
public:
  static constexpr auto name = "pool-coordinator";

  explicit pool_state(pool_actor::pointer self) : self_{self} {}

  void begin(pool_options options);
  void hear(const pool::event& what);
  void meet(const link_up& what);
  void meet(const ingress_up& what);
  void add(const listen_to_pool& what);
  void learn(const tables_changed& what);
  pool_changed look() const;
  void pass();

private:
  void carry_out(const std::vector<pool::effect>& effects);
  void carry_out(const pool::start_replica& what);
  void carry_out(const pool::stop_replica& what);
  void carry_out(const pool::view_changed& what);
  template <class ForIngress>
  void carry_out(const ForIngress& what); ///< Leases and tickets.
  void publish();

  pool_actor::pointer self_;
  pool_id id_;
  std::optional<pool::coordinator> pool_;
  std::map<host_id, node_link_actor> links_;
  std::map<ingress_id, ingress_actor> ingresses_;
  std::vector<pool_listener> listeners_;
};

pool_actor::behavior_type
pool_behavior(pool_actor::stateful_pointer<pool_state> self, pool_options options);

} // namespace assay
