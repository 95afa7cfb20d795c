#pragma once
// What one assayd is made of, in the order in which its parts end last to first. Included by
// src/app/node*.cpp alone.

#include "actors/interfaces_peers.hpp"
#include "src/app/agent_keeper.hpp"
#include "src/app/blob_keeper.hpp"
#include "src/app/errands.hpp"
#include "src/app/founding.hpp"
#include "src/app/joining.hpp"
#include "src/app/leadership.hpp"
#include "src/app/monitor.hpp"
#include "src/app/node.hpp"
#include "src/app/own_keys.hpp"
#include "src/app/parts.hpp"
#include "src/app/standalone.hpp"
#include "src/base/group_clock.hpp"

#include <caf/actor_system_config.hpp>

#include <atomic>
#include <mutex>

namespace assay::app {

struct actor_config : caf::actor_system_config {
  actor_config() {
    // A thousand messages of one actor must not keep the others waiting, and idle workers must not
    // poll.
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-throughput", std::size_t{100});
    set("scheduler.max-threads", std::size_t{2});
  }
};

/// The address that local clients use: an ingress on all interfaces is reached on loopback.
inline std::string reachable(const std::string& host) {
  return host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "::1" : host;
}

/// How far a change of our own keys has come. The leadership's thread's.
struct key_change_state {
  steady_time named_since;   ///< The ledger names the next ones; none: it does not.
  steady_time unheard_since; ///< Nobody answers; none: somebody does, or none wait.
  bool speaks_next = false;  ///< The links have the next pair, because nobody took the other one.
  bool is_links_due = false; ///< They have to change theirs,
  bool is_hub_due = false;   ///< or the hub has,
  steady_time not_before;    ///< and when they failed to, not before this.
};

struct node::whole {
  whole(settings s, std::optional<app::place> where) : how{std::move(s)}, place{std::move(where)} {}

  settings how;
  std::optional<app::place> place; ///< A standalone has none.
  const std::uint64_t boot = static_cast<std::uint64_t>(wall_now().value); ///< Which of its starts.
  std::optional<store::data_directory> directory;
  own_secrets secrets;
  std::unique_ptr<own_keys> keys;
  key_change_state key_change;
  app::metrics metrics;
  std::unique_ptr<app::forwarding> forwarding;
  std::shared_ptr<group_clock> clock = std::make_shared<group_clock>(); ///< What ends, ends by it.
  std::unique_ptr<app::group> group; ///< What the engine sends by, so it outlives that.
  std::unique_ptr<store::ledger_engine> engine;
  std::optional<app::scrub> scrub;
  std::optional<space_watch> space;
  std::unique_ptr<store::blob_store> blobs;
  std::unique_ptr<app::blob_keeper> blob_keeper; ///< Errands call it until they have ended.
  std::shared_ptr<pool::endpoint_registry> counters = std::make_shared<pool::endpoint_registry>();
  actor_config config;
  std::unique_ptr<caf::actor_system> actors;
  std::unique_ptr<app::errands> errands;
  std::unique_ptr<http::ingress_server> ingress;
  std::unique_ptr<fabric::hub> hub;
  std::optional<join_desk> joins;
  app::parts parts;
  service_links_actor service; ///< None in a standalone.
  service_book_actor book;
  std::optional<app::leadership> leadership;
  assay::standing told;       ///< To SERVICE LINKS and SERVICE BOOK; the leadership's thread's.
  steady_time next_agreement; ///< The leadership's thread's.
  std::unique_ptr<http::service_listener> admin;
  std::unique_ptr<http::service_listener> monitor;
  std::optional<endpoints> before;
  std::optional<agent_keeper> keeper;

  // The engine and the HTTP threads run before and after the actors do.
  std::mutex bound_mutex;
  bool is_bound = false;
  std::atomic<app::stage> life = stage::starting;
  std::atomic<bool> had_leader = false;

  result<void, problem> start();
  result<void, problem> open_ledger();
  result<void, problem> found(const std::string& disk);
  store::engine_options engine_options();
  result<void, problem> start_ingress();
  ingress_id ingress_name() const { return {place ? how.name : "ingress-1"}; }
  void spawn_actors();
  void spawn_service_links();
  std::optional<http::client_address> door() const;
  fabric::standing standing() const;
  void tell_standing(const store::engine_status& now);
  std::vector<ingress_id> ingresses() const;
  void fill_parts();
  void watch_leadership();
  void agree_on_version(const store::engine_status& now);
  void lead(std::uint64_t term);
  void keep_keys();
  void take_next_keys(steady_time now);
  void try_next_keys(steady_time now);
  void carry_out_keys(steady_time now);
  void follow();
  result<void, problem> start_hub();
  result<void, problem> open_monitor();
  result<void, problem> open_admin();
  result<void, problem> start_standalone();
  void on_view(const store::view_ptr& view);
  void hear(std::uint64_t node, peers::message said);
  bool votes(std::uint64_t node) const;
  void start_blob_keeper();
  blobs::standing blob_standing() const;
  void note_reach(std::uint64_t node, peers::lane lane, bool is_up);
  void stop();
  void close_service();
  void end_actors();
};

} // namespace assay::app
