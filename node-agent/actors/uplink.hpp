#pragma once
// UPLINK: the agent's ear and mouth. Commands become RUNTIMEs and orders to them, reports go to the
// coordinator that leads, and each new session is told everything there is.
//
// A command that was heard before is harmless: the same order again is answered by the report of
// what is there. What ended is remembered until a session has heard of it.

#include "actors/interfaces_agent.hpp"
#include "node-agent/actors/deeds.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <map>
#include <optional>
#include <string>

namespace assay::agent {

class uplink_state {
public:
  static constexpr auto name = "uplink";

  explicit uplink_state(uplink_actor::pointer self) : self_{self} {}

  void begin(std::shared_ptr<host_deeds> host) { host_ = std::move(host); }
  void open(const session_began& what);
  void close(const session_lost& what);
  void hear(coordinator_said& what);
  void take_over(const replica_found& what);
  void learn(fabric::replica_report& report);
  void learn(fabric::artifact_report& report);
  void learn(family_found& what);
  void learn(family_figures& what);
  void learn(family_events& what);
  /// `answer` is given when the coordinator said what became of it, or can say so no more.
  void offer(const adopt_question& question, caf::typed_response_promise<adopt_answer> answer);
  status_answer status() const;
  /// `answer` is given once none runs any more.
  void stop_all_replicas(caf::typed_response_promise<all_stopped> answer);

private:
  /// A replica is one generation of one id; an older generation may still be ending beside it.
  using key = std::pair<replica_id, std::uint64_t>;

  void carry_out(const fabric::start_replica& command);
  void carry_out(const fabric::adopt_replica& command);
  void carry_out(const fabric::stop_replica& command);
  void carry_out(const fabric::verify_artifact& command);
  void carry_out(const fabric::drain_host& command);
  void carry_out(const fabric::adopt_outcome& outcome);
  template <class Other>
  void carry_out(const Other&) {} // Welcome, heartbeats and farewells end in the fabric's thread.

  template <class Command>
  void begin_replica(const Command& command);
  template <class Command>
  std::optional<std::string> refusal(const Command& command) const;
  template <class Command>
  void report_failed(const Command& command, std::string why);
  void end_replica(const key& which, std::string why, std::chrono::milliseconds grace);
  void run(const key& which, std::shared_ptr<replica_deeds> deeds);
  artifact_answer answer_to_self();
  void answer_offer(result<implementation_id, problem> taken);
  void tell(const fabric::agent_message& message);
  fabric::device_events newest_events() const;
  void answer_if_stopped();

  uplink_actor::pointer self_;
  std::shared_ptr<host_deeds> host_;
  bool has_session_ = false;
  std::string coordinator_; ///< Of this session, or of the last.
  std::map<key, runtime_actor> runtimes_;
  std::map<key, fabric::replica_report> reports_;
  std::map<artifact_id, fabric::artifact_report> artifacts_;
  std::optional<fabric::inventory> inventory_; ///< Of all families.
  std::map<catalog::family, std::vector<fabric::device>> devices_;
  std::map<catalog::family, std::vector<fabric::native_sample>> samples_;
  std::map<catalog::family, std::vector<fabric::device_event>> events_;
  std::optional<std::string> draining_;
  fabric::adopt_offer offered_; ///< The newest, and the only one that is waited for.
  caf::typed_response_promise<adopt_answer> when_offered_;
  caf::typed_response_promise<all_stopped> when_stopped_;
};

uplink_actor::behavior_type
uplink(uplink_actor::stateful_pointer<uplink_state> self, std::shared_ptr<host_deeds> host);

} // namespace assay::agent
