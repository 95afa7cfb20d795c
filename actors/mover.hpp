#pragma once
// The MOVER carries open moves on: it looks at each (src/moves/advance.hpp), proposes the event
// that is due, and looks again when the ledger, a pool or what ingresses route by changed. It
// remembers nothing that the ledger does not hold, but what people asked for since it began.

#include "actors/interfaces_peers.hpp"
#include "src/moves/advance.hpp"

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <limits>
#include <map>
#include <optional>

namespace assay {

struct mover_options {
  ledger_actor ledger;
  ingress_actor ingress;       ///< Of this process.
  service_links_actor service; ///< Knows those of other processes; none in a standalone.
  std::uint64_t node = 0;      ///< Our own.
};

class mover_state {
public:
  static constexpr auto name = "mover";
  using promise = caf::typed_response_promise<move_answer>;

  explicit mover_state(mover_actor::pointer self) : self_{self} {}

  void begin(mover_options options);
  void promote(const assay::promote& what, promise answer);
  void reverse(const assay::reverse& what, promise answer);
  move_waits answer(const move_question& what) const;
  void learn(const tables_changed& what);
  void learn(const pool_changed& what);
  void pass();

private:
  /// Who asked for the end of an open move first, and all who wait for it to be on record.
  struct wisher {
    ledger::author who;
    std::string why;
    std::vector<promise> askers;
  };

  void start(
    const moves::plan& plan, const ledger::author& author, const std::string& reason, promise answer
  );
  void answer_wishers(const move_id& id);
  void ask_routes();
  template <class Who>
  void ask_routes(const Who& who, std::vector<ledger::ingress_runs>& into);
  std::vector<ledger::ingress_runs> ingresses() const;
  void drive();
  void drive(const ledger::move_row& row);
  ledger::moving_world around(const std::vector<ledger::ingress_runs>& known) const;
  moves::action next_of(const ledger::move_row& row, const ledger::moving_world& world) const;
  void propose_due();
  void record(
    ledger::payload what,
    const ledger::author& author,
    const std::string& reason,
    bool time_driven,
    std::function<void(const store::answer&)> then
  );
  bool is_shown(std::uint64_t seq) const;

  mover_actor::pointer self_;
  mover_options options_;
  tables_changed tables_;
  std::map<pool_id, std::shared_ptr<const pool::pool_view>> views_;
  std::vector<ledger::ingress_runs> here_;      ///< Our own ingress, once it has answered.
  std::vector<ledger::ingress_runs> elsewhere_; ///< Of other processes.
  steady_time began_;
  std::map<move_id, moves::wish> wishes_;
  std::map<move_id, wisher> wishers_;
  static constexpr auto not_answered = std::numeric_limits<std::uint64_t>::max();

  /// One proposal at a time for each move, until it is refused or the tables show it: by the seq
  /// that it got. Else the move would look as if nothing had been proposed.
  std::map<move_id, std::uint64_t> proposing_;
  std::optional<std::uint64_t> proposing_due_; ///< The same for what time brings about.
  std::size_t due_turn_ = 0;
};

mover_actor::behavior_type
mover_behavior(mover_actor::stateful_pointer<mover_state> self, mover_options options);

} // namespace assay
