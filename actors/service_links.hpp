#pragma once
// SERVICE LINKS, one per assayd, gives INGRESS its pools wherever the leader is: while this assayd
// leads, the POOL COORDINATORs of its own SUPERVISOR; while it follows, a POOL LINK for each of the
// leader's pools. While it leads it also makes an INGRESS LINK for each other process that says
// hello.
//
// Between leaders INGRESS keeps the pools it had, so that it keeps its views, counters and credits;
// it changes to others only when those are there. Messages of an older epoch than the newest
// seen, and of whoever does not lead the epoch they name, are dropped and counted.

#include "actors/interfaces_peers.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace assay {

struct service_links_options {
  std::uint64_t node = 0; ///< Our own.
  ingress_id name;        ///< Of our ingress; no other process of the cluster has it.
  std::uint64_t boot = 0; ///< Another one after each start.
  ingress_actor ingress;
  std::function<peers::send_outcome(std::uint64_t to, const peers::message&)> send;
  std::function<void(const std::string& why)> stop_process;
};

class service_links_state {
public:
  static constexpr auto name = "service-links";

  explicit service_links_state(service_links_actor::pointer self) : self_{self} {}

  void begin(service_links_options options);
  void learn(const standing& what);
  void note(const peer_up& what);
  void note(const peer_down& what);
  void hear(const peer_said& what);
  void learn(const local_pools& what);
  service_answer look() const;
  routes_answer routes() const;
  void pass();

private:
  struct remote {
    ingress_id name;
    std::uint64_t boot = 0;
    ingress_link_actor link;
    std::optional<std::uint64_t> seq; ///< That it routes by, as it said last.
    steady_time heard_at;
  };

  // Following.
  void greet();
  void take(const peers::pools_now& what);
  template <class Word>
  void pass_on(const pool_id& pool, const Word& what);

  // Leading.
  void take_local_pools();
  void welcome(std::uint64_t node, const peers::ingress_hello& what);
  bool is_taken(std::uint64_t by, const ingress_id& wanted) const;
  void make_link(std::uint64_t node, const peers::ingress_hello& what);
  void note_routes(std::uint64_t node, const peers::ingress_report& what);
  template <class Word>
  void hand_over(std::uint64_t node, const Word& what);

  template <class Word>
  bool is_from_leader(std::uint64_t node, const Word& what);
  template <class Word>
  bool is_to_leader(const Word& what);

  template <class Handle>
  void watch(const Handle& who, std::string called);
  template <class Handle>
  void end(const Handle& who);
  void end_pool_links();
  void end_ingress_links();

  service_links_actor::pointer self_;
  service_links_options options_;
  standing standing_;
  service_answer counters_;
  std::set<std::uint64_t> up_;
  bool has_pools_ = false; ///< INGRESS has those of the standing.
  std::map<pool_id, pool_link_actor> pool_links_;
  std::map<std::uint64_t, remote> ingress_links_; ///< By node.
  std::optional<local_pools> local_;
  std::map<caf::actor_addr, std::string> watched_; ///< What each is called.
};

service_links_actor::behavior_type service_links_behavior(
  service_links_actor::stateful_pointer<service_links_state> self, service_links_options options
);

} // namespace assay
