#pragma once
// An INGRESS LINK is an ingress of another process as the leader's POOL COORDINATORs see it: what
// they grant, answer and show goes there, and what the ingress reports and asks comes to them in
// its name.
//
// Of views and leases only the newest matters: while the way is full the older ones are left out,
// and the newest always arrives in the end. An ingress that is not heard or not reached for
// `limits::ingress_silence` is reported lost, so that its leases run out.

#include "actors/pool_link.hpp"
#include "src/pool/counters.hpp"

#include <deque>
#include <map>
#include <optional>

namespace assay {

struct ingress_link_options {
  ingress_id name;
  std::uint64_t epoch = 0;
  peer_sender say;
  bool is_reached = false;
};

class ingress_link_state {
public:
  static constexpr auto name = "ingress-link";

  explicit ingress_link_state(ingress_link_actor::pointer self) : self_{self} {}

  void begin(ingress_link_options options);

  // From the leader's actors.
  void learn(const pool_changed& what);
  void learn(const pools_known& what);
  void accept(const pool::grant_lease& what);
  void admit(const pool::admit_ticket& what);
  void refuse(const pool::refuse_ticket& what);

  // From the ingress.
  void hear(const peers::ingress_report& what);
  void hear(const peers::ticket_ask& what);
  void hear(const peers::ticket_withdraw& what);

  void start_over(const begin_anew& what);
  void note(const reached& what);
  void pass();

private:
  struct kept_lease {
    pool::grant_lease what;
    bool is_due = true;
  };
  struct known_pool {
    pool_actor pool;
    std::shared_ptr<const pool::pool_view> view;
    bool is_view_due = false;
    std::map<pool::endpoint_key, kept_lease> leases; ///< The last of each endpoint.
  };

  void meet(const pool_id& id, const pool_actor& pool);
  void lose();
  bool tell(const pool_id& to, pool::event what);
  pool_id sender() const;
  void answer(peers::message what);
  void flush();
  bool flush_pools();
  bool flush_views();
  bool flush_leases();
  bool flush_answers();
  bool say(const peers::message& what);
  peers::lease lease_of(const pool_id& pool, const pool::grant_lease& what) const;

  ingress_link_actor::pointer self_;
  ingress_link_options options_;
  std::map<pool_id, known_pool> pools_;
  bool knows_pools_ = false;
  bool are_pools_due_ = false;
  std::deque<peers::message> answers_; ///< To tickets.
  /// The ingress's own clock in its last report, and ours when it came.
  std::optional<std::chrono::milliseconds> its_clock_;
  steady_time heard_at_;
  std::optional<steady_time> unreached_since_;
  bool is_lost_ = false;
};

ingress_link_actor::behavior_type ingress_link_behavior(
  ingress_link_actor::stateful_pointer<ingress_link_state> self, ingress_link_options options
);

} // namespace assay
