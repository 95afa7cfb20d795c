#include "src/qualification/life.hpp"

#include "src/base/life_table.hpp"

namespace assay::qualification {

namespace {

constexpr transition<state, event> table[] = {
  {state::draft, event::start, state::evaluating},
  {state::evaluating, event::pass, state::qualified},
  {state::evaluating, event::fail, state::rejected},
  {state::evaluating, event::no_evidence, state::inconclusive},
  {state::inconclusive, event::more_runs, state::evaluating},
  {state::inconclusive, event::give_up, state::rejected},
  {state::qualified, event::drift, state::suspended},
  {state::qualified, event::regression, state::suspended},
  {state::qualified, event::key_compromise, state::suspended},
  {state::suspended, event::reverify_pass, state::qualified},
  {state::qualified, event::expire, state::expired},
  {state::suspended, event::expire, state::expired},
  {state::qualified, event::revoke, state::revoked},
  {state::suspended, event::revoke, state::revoked},
  {state::qualified, event::supersede, state::superseded},
  {state::suspended, event::supersede, state::superseded},
};

constexpr std::string_view state_names[] = {
  "draft",
  "evaluating",
  "qualified",
  "rejected",
  "inconclusive",
  "suspended",
  "expired",
  "revoked",
  "superseded",
};

constexpr std::string_view event_names[] = {
  "start",
  "pass",
  "fail",
  "no_evidence",
  "more_runs",
  "give_up",
  "drift",
  "regression",
  "key_compromise",
  "reverify_pass",
  "expire",
  "revoke",
  "supersede",
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

} // namespace assay::qualification
