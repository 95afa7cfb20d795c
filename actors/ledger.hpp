#pragma once
// The LEDGER: actors' way to the ledger's engine, which has threads of its own and knows no actors.
//
// Every proposal is answered exactly once, in the order in which the engine answers. New tables go
// to whoever listens. The engine is handed in as a function, so that a test can stand in for it.

#include "actors/interfaces.hpp"

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace assay {

/// Hands bytes to the engine; `done` is called once, from any thread.
using proposer =
  std::function<void(std::string bytes, bool time_driven, std::function<void(store::answer)> done)>;

class ledger_state {
public:
  static constexpr auto name = "ledger";
  using promise = caf::typed_response_promise<proposed>;

  explicit ledger_state(ledger_actor::pointer) {}

  void begin(ledger_actor::pointer self);
  std::uint64_t keep(promise p);
  void answer(proposal_answered what);
  void publish(ledger_actor::pointer self, const tables_changed& what);
  void add(ledger_actor::pointer self, listen_to_tables what);

private:
  std::uint64_t asked_ = 0;
  std::map<std::uint64_t, promise> waiting_;
  tables_changed newest_;
  std::vector<tables_listener> listeners_;
};

ledger_actor::behavior_type
ledger_behavior(ledger_actor::stateful_pointer<ledger_state> self, proposer put);

} // namespace assay
