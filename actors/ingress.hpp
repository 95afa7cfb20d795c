#pragma once
// The INGRESS: builds the routing snapshot whenever something changed and posts it to the HTTP
// threads; keeps the leases that pools grant; carries tickets to pools and their answers back;
// rules which endpoints are left alone for a while; takes outcomes in, and counts what was served,
// hour by hour, for the ledger.
//
// Whoever stands for a pool may change, as leaders do: views, counters and credits stay, the new
// one hears what is held, and who waits asks it again.
//
// No request passes through it: HTTP threads route on their own snapshot and send what is over in
// batches. The HTTP server is handed in as two functions, so that tests can do without one; what
// hears of hours that are over is a third.

#include "actors/interfaces.hpp"
#include "src/base/group_clock.hpp"
#include "src/ledger/service.hpp"
#include "src/pool/continued_view.hpp"
#include "src/pool/counters.hpp"
#include "src/routing/health.hpp"
#include "src/routing/learn.hpp"
#include "src/routing/snapshot.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace assay {

struct ingress_options {
  ingress_id name;
  std::shared_ptr<pool::endpoint_registry> counters;
  std::function<void(std::shared_ptr<const routing::routing_snapshot>)> post;
  std::function<void(const std::vector<routing::outcome>&)> count; ///< For metrics.
  bool serves = true;     ///< Without HTTP threads it wants no credits.
  std::uint64_t boot = 0; ///< Of its process, as in the ids of its decisions.
  std::string loopback;   ///< `own_loopback` of its process.
  std::function<void(std::vector<ledger::serving_summary>)> tell = [](const auto&) {};
  std::shared_ptr<const group_clock> clock = std::make_shared<group_clock>();
};

class ingress_state {
public:
  static constexpr auto name = "ingress";

  explicit ingress_state(ingress_actor::pointer self) : self_{self} {}

  void begin(ingress_options options);
  void learn(const tables_changed& what);
  void learn(const pool_changed& what);
  void learn(const pools_known& what);
  void accept(const pool::grant_lease& what);
  void take(const outcomes& what);
  void ask(ticket_wanted& what);
  void drop(const ticket_dropped& what);
  void settle(const ticket_settled& what);
  void admit(const pool::admit_ticket& what);
  void refuse(const pool::refuse_ticket& what);
  explain_answer explain(const explain_question& what) const;
  routes_answer routes() const;
  std::uint64_t routed_by() const;
  service_ended end_service();
  void pass();

private:
  struct waiting {
    pool::ticket_asked ticket;
    decltype(ticket_wanted::answer) answer;
    std::set<pool_id> asked; ///< That have not answered yet.
  };

  void rebuild();
  void rule();
  void meet(const pool_id& id);
  void report(const pool_id& to);
  void forget_gone_pools();
  void turn_away(std::uint64_t number);
  void withdraw(const pool_id& at, std::uint64_t number);
  pool_id sender() const;

  ingress_actor::pointer self_;
  ingress_options options_;
  tables_changed tables_;
  pools_known pools_;
  std::map<pool_id, pool::continued_view> continued_;
  std::map<pool_id, std::shared_ptr<const pool::pool_view>> views_; ///< What those show.
  std::map<pool::endpoint_key, std::uint64_t> grants_; ///< Number of the last grant accepted.
  std::map<std::uint64_t, waiting> tickets_;
  std::map<pool_id, std::vector<std::uint64_t>> settled_;
  std::map<std::uint64_t, pool_id> admitted_by_;
  routing::rate_table rates_;
  routing::health_table health_;
  std::optional<ledger::service_tally> tally_; ///< From the beginning on.
  std::shared_ptr<const routing::routing_snapshot> snapshot_;
  std::uint64_t generation_ = 0;
  bool dirty_ = false;              ///< Rates or views changed since the last snapshot.
  std::int64_t built_at_error_ = 0; ///< Of our clock, when that was made.
};

ingress_actor::behavior_type
ingress_behavior(ingress_actor::stateful_pointer<ingress_state> self, ingress_options options);

} // namespace assay
