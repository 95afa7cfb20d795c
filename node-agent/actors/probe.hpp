#pragma once
// PROBE: one device family. It asks for figures every second and for the host's stack every five,
// one question of a kind at a time; a family that does not answer in time is stale, and says so in
// its samples, while everything else goes on.

#include "actors/interfaces_agent.hpp"
#include "node-agent/actors/deeds.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <optional>

namespace assay::agent {

class probe_state {
public:
  static constexpr auto name = "probe";

  explicit probe_state(probe_actor::pointer self) : self_{self} {}

  void begin(std::shared_ptr<family_deeds> deeds, uplink_actor uplink);
  void ask();
  void learn(family_sampled& what);
  void learn(family_discovered& what);

private:
  void ask_for_samples(steady_time now);
  void ask_for_stack(steady_time now);
  void say_stale();
  void learn(fabric::inventory found);

  probe_actor::pointer self_;
  std::shared_ptr<family_deeds> deeds_;
  uplink_actor uplink_;
  std::optional<steady_time> samples_asked_;
  std::optional<steady_time> stack_asked_;
  std::optional<steady_time> stack_due_;
  std::vector<fabric::native_sample> newest_;
  std::vector<fabric::device_event> events_;
  std::optional<fabric::inventory> inventory_;
};

probe_actor::behavior_type probe(
  probe_actor::stateful_pointer<probe_state> self,
  std::shared_ptr<family_deeds> deeds,
  uplink_actor uplink
);

} // namespace assay::agent
