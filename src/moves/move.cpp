#include "src/moves/move.hpp"

#include "src/base/life_table.hpp"

namespace assay::moves {

namespace {

constexpr transition<state, event> table[] = {
  {state::proposed, event::authorise, state::authorised},
  {state::proposed, event::deny, state::denied},
  {state::proposed, event::cancel, state::cancelled},
  {state::authorised, event::stage, state::staged},
  {state::authorised, event::cancel, state::cancelled},
  {state::staged, event::cancel, state::cancelled},
  {state::staged, event::step, state::ramping},
  {state::holding, event::step, state::ramping},
  {state::ramping, event::acked, state::holding},
  {state::holding, event::bake_over, state::observing},
  {state::observing, event::confirm, state::committed},
  {state::authorised, event::abort, state::reverting},
  {state::staged, event::abort, state::reverting},
  {state::ramping, event::abort, state::reverting},
  {state::holding, event::abort, state::reverting},
  {state::observing, event::abort, state::reverting},
  {state::reverting, event::retarget, state::reverting},
  {state::reverting, event::revert_acked, state::reverted},
  {state::reverting, event::exhausted, state::revert_failed},
  {state::revert_failed, event::manual_vector, state::reverting},
};

constexpr std::string_view state_names[] = {
  "proposed",
  "authorised",
  "staged",
  "ramping",
  "holding",
  "observing",
  "committed",
  "denied",
  "cancelled",
  "reverting",
  "reverted",
  "revert_failed",
};

constexpr std::string_view event_names[] = {
  "authorise",
  "deny",
  "stage",
  "cancel",
  "step",
  "acked",
  "bake_over",
  "confirm",
  "abort",
  "retarget",
  "revert_acked",
  "exhausted",
  "manual_vector",
};

static_assert(std::size(state_names) == states.size());
static_assert(std::size(event_names) == events.size());

} // namespace

std::optional<state> next(state from, event what) {
  return follow(table, from, what);
}

bool is_final(state s) {
  return ends_in(table, s);
}

bool changes_route(event e) {
  return e == event::step || e == event::retarget || e == event::manual_vector;
}

std::string_view name(state s) {
  return state_names[static_cast<std::size_t>(s)];
}

std::string_view name(event e) {
  return event_names[static_cast<std::size_t>(e)];
}

std::optional<state> parse_state(std::string_view text) {
  return named<state>(state_names, text);
}

std::optional<event> parse_event(std::string_view text) {
  return named<event>(event_names, text);
}

} // namespace assay::moves
