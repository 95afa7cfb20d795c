#pragma once
// What MOVER does next about an open move. The ledger holds the move's state; this looks at it and
// at what is seen now, and says which event to propose, if any.
//
// It is asked again whenever something changed and when a deadline passed, by whichever coordinator
// leads: nothing is remembered here, so a new leader goes on where the old one stopped. Proposals
// may come twice; apply takes the first. Reverting outranks everything else.

#include "src/base/clock.hpp"
#include "src/moves/move.hpp"
#include "src/moves/plan.hpp"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace assay::moves {

/// An open move as the ledger holds it.
struct open_move {
  move_id id;
  moves::plan plan;
  moves::state state = first_state;
  wall_ms entered_at;              ///< When the present state began; retargets do not count.
  std::uint64_t generation = 0;    ///< Of the route, as this move last set it; 0: not yet.
  std::uint32_t targets_tried = 0; ///< `retarget` and `manual_vector` events so far.
};

enum class guard : std::uint8_t { pass, fail, no_data };

/// What a person asked for, if anything.
enum class wish : std::uint8_t { none, cancel, abort };

/// Everything the decision needs from outside the move, at one moment.
struct observed {
  wall_ms now;
  route current;
  std::vector<implementation_id> usable; ///< Qualified now, or under a waiver; sorted.
  std::vector<implementation_id>
    ready;                        ///< With enough ready replicas on a qualified stack; sorted.
  std::uint64_t acknowledged = 0; ///< Generation of the route that every required ingress runs.
  std::string last;               ///< The ingress that is furthest behind.
  std::string not_waited_for;     ///< Ingresses that were not heard for too long, by name.
  guard guards = guard::no_data;
  wish asked = wish::none;
};

/// Propose this event of the move; `carry` are the route's new vectors for events that change it.
struct propose {
  event what = event::authorise;
  std::optional<vectors> carry;
  std::uint64_t expected_generation = 0; ///< Compare-and-set for events that change the route.
  std::string why;                       ///< Reason text of the record.
};
/// Nothing to do until something changes or `until` comes.
struct wait {
  std::string why; ///< For `assay describe move`: what is waited for, by name.
  std::optional<wall_ms> until;
};
/// A person is needed: the move could not be undone and its route is frozen.
struct call_person {
  std::string why;
};
using action = std::variant<propose, wait, call_person>;

action advance(const open_move& move, const observed& seen);

/// Those that `v` lets carry something and that are not in `usable`.
std::vector<implementation_id>
unusable(const vectors& v, const std::vector<implementation_id>& usable);

} // namespace assay::moves
