// The life of a move once it is authorised; its transitions are src/moves/move.hpp's. Only `step`,
// `retarget` and `manual_vector` change a route, by one generation each.

#include "src/ledger/chronicle.hpp"
#include "src/ledger/move_rules.hpp"

#include <algorithm>

namespace assay::ledger {

namespace {

using moves::event;
using moves::state;

bool is_in(const inverse_plan& plan, const moves::vectors& v) {
  if (v == plan.target || (plan.shed_load && !moves::carries_anything(v)))
    return true;
  return std::ranges::find(plan.fallback, v) != plan.fallback.end();
}

// -- steps ------------------------------------------------------------------------------------

/// I12: a window without data is not a pass.
ruling unguarded(const move_row& m, observation seen) {
  if (!m.plan.guarded || seen == observation::pass)
    return {};
  return refuse(
    "guards",
    "move " + in_quotes(m.plan.id.value) + " is guarded and its guards say "
      + std::string{name(seen)} + "; only pass lets it go on"
  );
}

ruling too_early(const change_set& c, const move_row& m, std::uint64_t wanted_ms) {
  auto passed =
    static_cast<std::uint64_t>(std::max<std::int64_t>(0, c.now.value - m.changed_at.value));
  if (passed >= wanted_ms)
    return {};
  return refuse(
    "too_early",
    "move " + in_quotes(m.plan.id.value) + " has been " + std::string{moves::name(m.state)}
      + " for " + std::to_string(passed) + " ms of " + std::to_string(wanted_ms)
  );
}

/// How long the step that was taken last is held.
std::uint64_t hold_ms(const move_row& m) {
  return m.steps_done == 0 ? 0 : m.plan.steps[m.steps_done - 1].hold_ms;
}

ruling bad_step(const change_set& c, const move_row& m, const move_route_changed& p) {
  if (p.step != m.steps_done || p.step >= m.plan.steps.size() || p.carried != m.plan.steps[p.step].carried)
    return refuse(
      "bad_step",
      "the next step of move " + in_quotes(m.plan.id.value) + " is number "
        + std::to_string(m.steps_done) + " of " + std::to_string(m.plan.steps.size())
        + ", with the vectors of the plan"
    );
  if (auto why = unproven(c, p.carried))
    return why;
  if (m.state == state::staged)
    return {};
  if (auto why = too_early(c, m, hold_ms(m)))
    return why;
  return unguarded(m, p.guards);
}

ruling bad_target(const change_set& c, const move_row& m, const move_route_changed& p) {
  if (!is_in(m.plan.inverse, p.carried))
    return refuse("bad_target", "a revert puts a vector of the move's inverse plan in place");
  if (!is_way_back(c, p.carried))
    return refuse(
      "no_way_back",
      "something that this vector lets carry traffic is not qualified any more; try the next one"
    );
  return {};
}

ruling bad_manual(const change_set& c, const move_row& m, const move_route_changed& p) {
  if (auto why = bad_vectors(c, m.plan.model, p.carried))
    return why;
  return unproven(c, p.carried);
}

ruling bad_route_change(const change_set& c, const move_row& m, const move_route_changed& p) {
  auto generation = generation_of(c.tables, m.plan.model);
  if (p.generation != generation + 1)
    return refuse(
      "stale_generation",
      "the route is at generation " + std::to_string(generation) + "; the next one is "
        + std::to_string(generation + 1) + ", not " + std::to_string(p.generation)
    );
  if (p.event == event::step)
    return bad_step(c, m, p);
  return p.event == event::retarget ? bad_target(c, m, p) : bad_manual(c, m, p);
}

// -- acknowledgements -------------------------------------------------------------------------

ruling bad_acknowledgements(const change_set& c, const move_row& m, const move_acked& p) {
  if (p.event == event::stage || m.generation == 0)
    return {};
  auto late = [&](const acknowledgement& a) { return a.generation < m.generation; };
  if (p.nodes.empty() || std::ranges::any_of(p.nodes, late))
    return refuse(
      "not_acknowledged",
      "the data planes have to acknowledge generation " + std::to_string(m.generation) + " or later"
    );
  if (p.event == event::revert_acked
      && carried_by_route(c.tables, m.plan.model) == m.plan.steps[m.steps_done - 1].carried
      && m.targets_tried == 0)
    return refuse("not_reverted", "the route still carries the move's step; retarget it first");
  return {};
}

ruling bad_end(const change_set& c, const move_row& m, const move_changed& p) {
  if (p.event == event::bake_over) {
    if (m.steps_done < m.plan.steps.size())
      return refuse(
        "steps_left",
        "move " + in_quotes(m.plan.id.value) + " has taken " + std::to_string(m.steps_done) + " of "
          + std::to_string(m.plan.steps.size()) + " steps"
      );
    if (auto why = too_early(c, m, hold_ms(m)))
      return why;
    return unguarded(m, p.guards);
  }
  if (p.event != event::confirm)
    return {};
  if (auto why = too_early(c, m, m.plan.bake_ms))
    return why;
  return unguarded(m, p.guards);
}

bool is_for_data_planes(event e) {
  return e == event::stage || e == event::acked || e == event::revert_acked;
}

} // namespace

ruling change(change_set& c, const move_route_changed& p) {
  auto* m = find(c.tables.moves, p.id);
  if (!m)
    return unknown_move(p.id);
  auto to = moves::next(m->state, p.event);
  if (!to || !moves::changes_route(p.event))
    return not_allowed(*m, moves::name(p.event));
  if (auto why = bad_route_change(c, *m, p))
    return why;
  auto next = *m;
  next.generation = p.generation;
  next.detail = p.detail;
  next.acknowledged.clear();
  if (p.event == event::step)
    ++next.steps_done;
  else
    ++next.targets_tried;
  if (p.event != event::retarget)
    next.changed_at = c.now;
  auto model = next.plan.model;
  put_moved(c, std::move(next), *to);
  c.about(indexes::route_change, model.value);
  c.put(route_row{{model, p.generation, p.carried}, p.id, p.event != event::step, c.now, c.seq});
  return {};
}

ruling change(change_set& c, const move_acked& p) {
  auto* m = find(c.tables.moves, p.id);
  if (!m)
    return unknown_move(p.id);
  auto to = moves::next(m->state, p.event);
  if (!to || !is_for_data_planes(p.event))
    return not_allowed(*m, moves::name(p.event));
  if (auto why = bad_acknowledgements(c, *m, p))
    return why;
  auto next = *m;
  next.acknowledged = p.nodes;
  put_moved(c, std::move(next), *to);
  return {};
}

ruling change(change_set& c, const move_changed& p) {
  auto* m = find(c.tables.moves, p.id);
  if (!m)
    return unknown_move(p.id);
  auto to = moves::next(m->state, p.event);
  if (!to || moves::changes_route(p.event) || is_for_data_planes(p.event) || p.event == event::authorise)
    return not_allowed(*m, moves::name(p.event));
  if (auto why = bad_end(c, *m, p))
    return why;
  auto next = *m;
  next.detail = p.detail;
  put_moved(c, std::move(next), *to);
  return {};
}

} // namespace assay::ledger
