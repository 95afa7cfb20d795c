#include "src/jobs/job.hpp"

#include "src/base/life_table.hpp"

namespace assay::jobs {

namespace {

constexpr transition<state, event> table[] = {
  {state::submitted, event::accept, state::queued},
  {state::submitted, event::hold, state::held},
  {state::queued, event::hold, state::held},
  {state::running, event::hold, state::held},
  {state::held, event::release, state::queued},
  {state::queued, event::start, state::running},
  {state::running, event::requeue, state::queued},
  {state::running, event::finish, state::finished},
  {state::submitted, event::cancel, state::cancelled},
  {state::held, event::cancel, state::cancelled},
  {state::queued, event::cancel, state::cancelled},
  {state::running, event::cancel, state::cancelled},
  {state::submitted, event::fail, state::failed},
  {state::held, event::fail, state::failed},
  {state::queued, event::fail, state::failed},
  {state::running, event::fail, state::failed},
  {state::submitted, event::expire, state::expired},
  {state::held, event::expire, state::expired},
  {state::queued, event::expire, state::expired},
  {state::running, event::expire, state::expired},
};

constexpr std::string_view state_names[] = {
  "submitted",
  "held",
  "queued",
  "running",
  "finished",
  "cancelled",
  "failed",
  "expired",
};

constexpr std::string_view event_names[] = {
  "accept",
  "hold",
  "release",
  "start",
  "requeue",
  "finish",
  "cancel",
  "fail",
  "expire",
};

constexpr std::string_view priority_names[] = {"urgent", "normal", "backfill"};

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

std::string_view name(priority p) {
  return priority_names[static_cast<std::size_t>(p)];
}

std::optional<state> parse_state(std::string_view text) {
  return named<state>(state_names, text);
}

std::optional<event> parse_event(std::string_view text) {
  return named<event>(event_names, text);
}

std::optional<priority> parse_priority(std::string_view text) {
  return named<priority>(priority_names, text);
}

} // namespace assay::jobs
