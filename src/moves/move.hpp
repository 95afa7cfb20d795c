#pragma once
// The life of a move, a change of a route: which event may follow which state.
//
//   proposed --authorise--> authorised --stage--> staged --step--> ramping --acked--> holding
//     |  \--cancel--\            |  \--cancel--\     \--cancel--\      ^---- step ----/   |
//   deny            cancelled    |                                                     bake_over
//     v                          |abort (from authorised to observing, outranks all)      v
//   denied                       v                              committed <--confirm-- observing
//                   reverting --retarget--> reverting --revert_acked--> reverted
//                       ^  \--exhausted--> revert_failed (a person is called)
//                       \------manual_vector-------/
//
// The table is the whole truth: what is not in it is refused when a record is applied. Guards that
// need more than the state are in src/moves/advance.hpp.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::moves {

enum class state : std::uint8_t {
  proposed,
  authorised,
  staged,
  ramping,
  holding,
  observing,
  committed,     ///< final; undone by a new move with `inverse_of`
  denied,        ///< final
  cancelled,     ///< final; no weight was changed
  reverting,     ///< on the way back to the inverse plan's target
  reverted,      ///< final
  revert_failed, ///< no target of the fallback chain could be reached; the route is frozen
};

enum class event : std::uint8_t {
  authorise,
  deny,
  stage,
  cancel,
  step, ///< the route's generation goes up and the vectors change
  acked,
  bake_over, ///< the last step was held long enough
  confirm,
  abort,        ///< guard failed, revoked, deadline, lost data plane, or a person said so
  retarget,     ///< the next vector of the fallback chain is put in place
  revert_acked, ///< every required ingress runs the target vector
  exhausted,
  manual_vector,
};

/// A move begins here, by its first record.
inline constexpr auto first_state = state::proposed;

inline constexpr auto states = std::array{
  state::proposed,
  state::authorised,
  state::staged,
  state::ramping,
  state::holding,
  state::observing,
  state::committed,
  state::denied,
  state::cancelled,
  state::reverting,
  state::reverted,
  state::revert_failed,
};

inline constexpr auto events = std::array{
  event::authorise,
  event::deny,
  event::stage,
  event::cancel,
  event::step,
  event::acked,
  event::bake_over,
  event::confirm,
  event::abort,
  event::retarget,
  event::revert_acked,
  event::exhausted,
  event::manual_vector,
};

/// The state after `what`, or nothing when that may not happen in `from`.
std::optional<state> next(state from, event what);

/// Nothing can happen to the move any more.
bool is_final(state s);

/// A route takes no second move while one is open. A move that failed to revert is still open.
inline bool is_open(state s) {
  return !is_final(s);
}

/// These events, and no others, change the route's vectors.
bool changes_route(event e);

std::string_view name(state s);
std::string_view name(event e);
std::optional<state> parse_state(std::string_view text);
std::optional<event> parse_event(std::string_view text);

} // namespace assay::moves
