#pragma once
// A NODE LINK stands for one agent: what the agent says becomes events of the pools that its host
// belongs to, and what a pool decides becomes commands to the agent.
//
// It decides nothing: which pools a host belongs to, what an artifact report means for the ledger
// and what a start command holds are functions of src/ledger. It remembers the agent's last word on
// everything, so that a POOL COORDINATOR that appears later learns it at once.

#include "actors/interfaces.hpp"
#include "src/ledger/observed.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace assay {

/// Hands a message to the fabric. From any thread.
using agent_sender = std::function<void(const host_id&, const fabric::coordinator_message&)>;

struct node_link_options {
  host_id host;
  std::uint64_t session = 0;
  ledger_actor ledger;
  agent_sender send;
};

/// An offer whose records go one after the other, because each stands on the one before.
struct adoption_under_way {
  fabric::adopt_offer offer;
  implementation_id as;
  std::deque<ledger::declared> left;
};

class node_link_state {
public:
  static constexpr auto name = "node-link";

  explicit node_link_state(node_link_actor::pointer self) : self_{self} {}

  void begin(node_link_options options) { options_ = std::move(options); }
  void hear(agent_said& what);
  void lose(const agent_lost& what);
  void start(const pool::start_replica& what);
  void stop(const pool::stop_replica& what);
  void learn(const tables_changed& what);
  void learn(const pools_known& what);
  host_answer answer() const;

private:
  void hear(fabric::inventory& what);
  void hear(fabric::replica_report& what);
  void hear(const fabric::artifact_report& what);
  void hear(fabric::native_samples& what);
  void hear(fabric::device_events& what) { events_ = std::move(what.events); }
  void hear(const fabric::adopt_offer& what);
  void declare_next(const std::shared_ptr<adoption_under_way>& of);
  void conclude(const fabric::adopt_offer& of, const result<implementation_id, problem>& taken);
  template <class Other>
  void hear(const Other&) {} // Hello, heartbeats and joining end in the fabric.

  std::vector<pool_id> my_pools() const;
  void report_host(const pool_actor& to) const;
  void tell_pools(const pool::event& what);
  void meet_pools();
  void tell_lost(const pool_id& id, pool::host_loss how);
  void stop_strays();
  bool is_stray(const fabric::replica_report& report) const;
  void stop_stray(const fabric::replica_report& report) const;
  void note_stack();
  void note_stack_of(const fabric::replica_report& adopted, const pool_id& pool);
  ledger::reported_stack stack_of(const fabric::replica_report& what) const;
  void want_artifacts();
  void tell_duty();
  using recorded = std::function<void(const result<void, problem>&)>;
  /// `done` is told once: the fact is on record, it was refused, or the ledger has not said.
  void record(
    ledger::payload what,
    const std::string& why,
    ledger::trust believed = ledger::trust::verified,
    recorded done = {}
  );

  node_link_actor::pointer self_;
  node_link_options options_;
  bool connected_ = true;
  tables_changed tables_;
  pools_known pools_;
  std::set<pool_id> met_;
  std::uint64_t met_in_ = 0; ///< The session of the inventory that pools know.
  /// Of the newest inventory: an agent that came back and has not said it yet is where it was.
  std::vector<catalog::family> families_;
  std::optional<fabric::inventory> inventory_;
  std::map<std::uint64_t, fabric::replica_report> replicas_; ///< By generation.
  std::map<digest, fabric::artifact_report> artifacts_;      ///< By manifest.
  struct family_samples {
    std::vector<fabric::native_sample> samples;
    steady_time at{}; ///< When they came.
  };
  std::map<catalog::family, family_samples> samples_;
  std::vector<fabric::device_event> events_;
  std::optional<fabric::drain_host> told_; ///< In this session: what the host may be used for.
  /// Facts that were proposed and may not be in the tables yet, by digest; true once answered.
  std::map<digest, bool> proposed_;
};

node_link_actor::behavior_type node_link_behavior(
  node_link_actor::stateful_pointer<node_link_state> self, node_link_options options
);

} // namespace assay
