#pragma once
// RUNTIME: one replica's life as an actor. It turns messages and time into events of the life,
// keeps the next state, and carries out the effects; the life decides.

#include "actors/interfaces_agent.hpp"
#include "node-agent/actors/deeds.hpp"

#include <caf/typed_event_based_actor.hpp>

namespace assay::agent {

class runtime_state {
public:
  static constexpr auto name = "runtime";

  // Without it CAF would initialise our first member with the actor's pointer.
  explicit runtime_state(runtime_actor::pointer self) : self_{self} {}

  void begin(std::shared_ptr<replica_deeds> deeds, uplink_actor uplink);
  void look();
  void take(const deed_done& what);
  void stop(const stop_order& order);
  void report();

private:
  void advance(const life::event& what);
  void carry_out(const life::effect& what);
  deed_answer answer_to_self(bool is_look);

  runtime_actor::pointer self_;
  std::shared_ptr<replica_deeds> deeds_;
  uplink_actor uplink_;
  life::state state_ = life::absent{};
  bool looking_ = false;
  std::string told_engine_; ///< Version of the engine in the last report.
  bool ended_ = false;
};

runtime_actor::behavior_type runtime(
  runtime_actor::stateful_pointer<runtime_state> self,
  std::shared_ptr<replica_deeds> deeds,
  uplink_actor uplink
);

} // namespace assay::agent
