#pragma once
// One pool as a value: which replica runs on which host, who may send it how many requests, and who
// waits.
//
// `step` decides and never acts: the POOL COORDINATOR actor turns messages and timers into events
// (src/pool/events.hpp) and carries out the effects in order. Promises, kept by `check_invariants`:
//
//   * a device belongs to at most one replica, and a replica lives on one host;
//   * the credits out on an endpoint, over all ingresses and counting what an ingress may still
//     believe it holds, never exceed the endpoint's slots;
//   * a replica of an older session, an unknown implementation or a generation from a later epoch
//     takes no traffic;
//   * the queue is bounded, and everybody in it has a deadline.

#include "src/pool/events.hpp"
#include "src/pool/placement.hpp"
#include "src/pool/queue.hpp"
#include "src/pool/state.hpp"
#include "src/pool/view.hpp"

#include <set>

namespace assay::pool {

struct coordinator_settings {
  pool_id pool;
  std::uint64_t epoch = 1; ///< The Raft term.
  /// Ingresses that may hold leases from an earlier epoch. Capacity that replicas from before
  /// offer is granted only once all of these have reported, or a lease's life has passed.
  std::vector<ingress_id> may_hold;
};

class coordinator {
public:
  coordinator(coordinator_settings settings, steady_time now);

  std::vector<effect> step(const event& what, steady_time now);

  pool_view view(steady_time now) const;

  /// Stops the process if a promise above is broken. Tests call it after every step.
  void check_invariants() const;

  std::uint64_t epoch() const { return settings_.epoch; }
  std::size_t waiting() const { return queue_.size(); }

private:
  // coordinator.cpp: what each event means.
  void on(const wanted_changed& e);
  void on(const host_reported& e);
  void on(const host_lost& e);
  void on(const replica_reported& e);
  void on(const ingress_reported& e);
  void on(const ingress_lost& e);
  void on(const ticket_asked& e);
  void on(const ticket_withdrawn& e);
  void on(const retry_asked& e);
  void on(const ticked& e);
  bool is_current(const host_id& host, std::uint64_t session) const;
  void meet(const replica_reported& e);
  void note_neighbour(const replica_reported& e);
  void hear(replica_state& r, const replica_reported& e);
  void bury(replica_state& r);
  void keep(const std::map<host_id, kept_host>& hosts);
  void count_crash(const replica_state& r, const std::string& reason);
  void note_ordered_end(const replica_state& r, const std::string& reason);

  // coordinator_replicas.cpp: from what is wanted to what runs.
  void reconcile();
  void reconcile(wanted_state& w);
  void start_missing(wanted_state& w, std::size_t fresh, std::vector<replica_state*>& outdated);
  void start(wanted_state& w, const placement& where);
  void rescale(wanted_state& w, const std::vector<replica_state*>& live);
  void leave(replica_state& r, const std::string& why);
  void chase(replica_state& r);
  void send_stop(replica_state& r);
  void send_start(replica_state& r);
  void fence(const host_id& host);
  bool has_settled(const host_state& h) const;
  bool is_in_service(const host_state& h) const;
  bool is_quarantined(const host_id& host) const;
  std::optional<std::string> why_leaves(const replica_state& r) const;
  bool is_live(const replica_state& r) const;
  bool takes_traffic(const replica_state& r) const;
  std::vector<replica_state*> live_of(const implementation_id& id);
  std::vector<host_room> rooms_for(const wanted_implementation& w) const;
  std::uint64_t next_generation();
  replica_id next_replica_id(const implementation_id& id, const host_id& host) const;

  // coordinator_credits.cpp: who may send how much where.
  void begin_traffic(replica_state& r);
  void adopt_holdings(replica_state& r);
  void take_holding(replica_state& r, const ingress_id& who, const ingress_reported::holding& h);
  void lapse_leases();
  void set_targets(replica_state& r);
  void settle(replica_state& r);
  void settle_all();
  void send_grant(replica_state& r, const ingress_id& who, lease_state& l);
  bool may_grant(const replica_state& r) const;
  bool may_be_held_unseen(const replica_state& r) const;
  std::uint32_t held(const replica_state& r) const;
  contention contention_on(const replica_state& r) const;

  // coordinator_queue.cpp: who waits, and who goes next.
  void admit();
  bool try_admit(const waiting_ticket& t);
  void ask_for_credit(const waiting_ticket& t);
  bool has_hope(const waiting_ticket& t) const;
  void refuse(const waiting_ticket& t, ticket_refusal why);
  bool may_serve(const replica_state& r, const waiting_ticket& t) const;

  void expect(effect e) { effects_.push_back(std::move(e)); }

  coordinator_settings settings_;
  steady_time started_;
  steady_time now_;
  std::uint64_t starts_ = 0;
  std::uint64_t grants_ = 0;
  std::map<host_id, host_state> hosts_;
  std::map<std::uint64_t, replica_state> replicas_; ///< By generation.
  /// Replicas of other pools on hosts that are ours too, by generation: their devices are taken.
  struct neighbour {
    host_id host;
    std::vector<std::string> devices;
  };
  std::map<std::uint64_t, neighbour> neighbours_;
  std::map<implementation_id, wanted_state> wanted_;
  std::set<implementation_id> elsewhere_;
  std::map<host_id, kept_host> kept_;
  std::map<ingress_id, ingress_state> ingresses_;
  std::set<ingress_id> unheard_; ///< May hold leases from before and have not reported.
  ticket_queue queue_;
  service_rate rate_;
  std::vector<effect> effects_;
  bool changed_ = false;
};

} // namespace assay::pool
