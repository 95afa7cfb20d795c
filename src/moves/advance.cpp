#include "src/moves/advance.hpp"

#include "src/base/limits.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace assay::moves {

namespace {

wall_ms after(wall_ms start, std::chrono::milliseconds span) {
  return {start.value + span.count()};
}

std::string listed(const std::vector<implementation_id>& ids) {
  std::string text;
  for (const auto& id : ids)
    text += (text.empty() ? "" : ", ") + id.value;
  return text;
}

propose just(event what, std::string why) {
  return {what, std::nullopt, 0, std::move(why)};
}

propose change_route(event what, const vectors& to, const observed& seen, std::string why) {
  return {what, to, seen.current.generation, std::move(why)};
}

std::string unproven_text(const std::vector<implementation_id>& ids) {
  return fmt::format("not qualified now: {}", listed(ids));
}

// -- until the first weight changes ---------------------------------------------------------------

/// What ends a move that has changed nothing yet; empty when it may go on.
std::string why_not(const open_move& move, const observed& seen) {
  if (seen.asked != wish::none)
    return "a person asked for it";
  if (seen.current.generation != move.plan.expected_generation)
    return fmt::format(
      "the route is at generation {}, and the move was planned for {}",
      seen.current.generation,
      move.plan.expected_generation
    );
  const auto missing = unusable(move.plan.after, seen.usable);
  return missing.empty() ? std::string{} : unproven_text(missing);
}

action from_proposed(const open_move& move, const observed& seen) {
  if (seen.asked != wish::none)
    return just(event::cancel, "a person asked for it");
  if (const auto why = why_not(move, seen); !why.empty())
    return just(event::deny, why);
  return just(
    event::authorise, fmt::format("qualified or waived: {}", listed(carriers(move.plan.after)))
  );
}

action from_authorised(const open_move& move, const observed& seen) {
  if (const auto why = why_not(move, seen); !why.empty())
    return just(event::cancel, why);
  const auto waiting = unusable(move.plan.after, seen.ready);
  if (waiting.empty())
    return just(event::stage, "replicas on a qualified stack are ready");
  const auto until = after(move.entered_at, limits::move_stage_within);
  auto why = fmt::format("no ready replica on a qualified stack: {}", listed(waiting));
  if (seen.now >= until)
    return just(event::cancel, std::move(why));
  return wait{std::move(why), until};
}

action from_staged(const open_move& move, const observed& seen) {
  if (const auto why = why_not(move, seen); !why.empty())
    return just(event::cancel, why);
  return change_route(event::step, move.plan.after, seen, to_text(move.plan.after));
}

// -- with changed weights -------------------------------------------------------------------------

/// What turns a move back; empty when it may go on.
std::string why_back(const open_move& move, const observed& seen) {
  if (seen.asked != wish::none)
    return "a person asked for it";
  const auto missing = unusable(move.plan.after, seen.usable);
  if (!missing.empty())
    return unproven_text(missing);
  if (move.plan.guarded && seen.guards == guard::fail)
    return "a guard failed";
  return {};
}

std::string all_run(std::uint64_t generation, const observed& seen) {
  auto text = fmt::format("every ingress runs generation {}", generation);
  if (!seen.not_waited_for.empty())
    text += "; not waited for, as they hold no credit: " + seen.not_waited_for;
  return text;
}

std::string one_is_behind(const observed& seen, std::string_view what, std::uint64_t generation) {
  return fmt::format(
    "the ingress of {} runs generation {}, {} {}", seen.last, seen.acknowledged, what, generation
  );
}

action from_ramping(const open_move& move, const observed& seen) {
  if (const auto why = why_back(move, seen); !why.empty())
    return just(event::abort, why);
  if (seen.acknowledged >= move.generation)
    return just(event::acked, all_run(seen.acknowledged, seen));
  const auto until = after(move.entered_at, limits::move_ack_within);
  auto why = one_is_behind(seen, "the move made", move.generation);
  if (seen.now >= until)
    return just(event::abort, std::move(why));
  return wait{std::move(why), until};
}

/// Holding and observing: time must pass, and guards must say pass. No data holds.
action after_a_while(
  const open_move& move, const observed& seen, std::chrono::milliseconds span, event what
) {
  if (const auto why = why_back(move, seen); !why.empty())
    return just(event::abort, why);
  const auto until = after(move.entered_at, span);
  if (seen.now < until)
    return wait{fmt::format("{} for {} ms", name(move.state), span.count()), until};
  if (move.plan.guarded && seen.guards == guard::no_data)
    return wait{"the guards have no data, and no data is no pass", std::nullopt};
  return just(what, move.plan.guarded ? "guards pass" : "nothing guards this move, and it says so");
}

// -- on the way back ------------------------------------------------------------------------------

std::vector<vectors> ways_back(const inverse_plan& plan) {
  auto ways = plan.reversible ? plan.targets : std::vector<vectors>{};
  if (plan.shed_load && (ways.empty() || carries_anything(ways.back())))
    ways.emplace_back();
  return ways;
}

/// The next valid target behind the one that is in place.
std::optional<vectors> next_target(const open_move& move, const observed& seen) {
  const auto ways = ways_back(move.plan.inverse);
  auto from = ways.begin();
  if (move.targets_tried > 0) {
    const auto current = std::find(ways.begin(), ways.end(), seen.current.carried);
    from = current == ways.end() ? ways.end() : current + 1;
  }
  const auto next = std::find_if(from, ways.end(), [&](const vectors& v) {
    return unusable(v, seen.usable).empty();
  });
  return next == ways.end() ? std::nullopt : std::optional{*next};
}

/// Whether what the route carries on its way back is still proven.
bool holds(const open_move& move, const observed& seen) {
  return move.targets_tried > 0 && unusable(seen.current.carried, seen.usable).empty();
}

action from_reverting(const open_move& move, const observed& seen) {
  if (move.generation == 0)
    return just(event::revert_acked, "no weight was changed");
  const auto until = after(
    move.entered_at, limits::revert_within * static_cast<int>(std::max(1U, move.targets_tried))
  );
  if (holds(move, seen) && seen.acknowledged >= move.generation)
    return just(event::revert_acked, all_run(move.generation, seen));
  if (holds(move, seen) && seen.now < until)
    return wait{one_is_behind(seen, "the way back is", move.generation), until};
  if (auto target = next_target(move, seen)) {
    const auto why = to_text(*target);
    return change_route(event::retarget, *target, seen, why);
  }
  return just(event::exhausted, "no target of the inverse plan could be put in place");
}

} // namespace

std::vector<implementation_id>
unusable(const vectors& v, const std::vector<implementation_id>& usable) {
  std::vector<implementation_id> missing;
  for (auto& id : carriers(v))
    if (!std::binary_search(usable.begin(), usable.end(), id))
      missing.push_back(std::move(id));
  return missing;
}

action advance(const open_move& move, const observed& seen) {
  switch (move.state) {
  case state::proposed:
    return from_proposed(move, seen);
  case state::authorised:
    return from_authorised(move, seen);
  case state::staged:
    return from_staged(move, seen);
  case state::ramping:
    return from_ramping(move, seen);
  case state::holding:
    return after_a_while(move, seen, move.plan.hold, event::bake_over);
  case state::observing:
    return after_a_while(move, seen, move.plan.bake, event::confirm);
  case state::reverting:
    return from_reverting(move, seen);
  case state::revert_failed:
    return call_person{
      "the move could not be undone and its route is frozen; put a vector in place by hand"};
  case state::committed:
  case state::denied:
  case state::cancelled:
  case state::reverted:
    break;
  }
  return wait{"the move is over", std::nullopt};
}

} // namespace assay::moves
