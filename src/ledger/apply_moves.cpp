// The life of a move; its transitions are src/moves/move.hpp's. Only `step`, `retarget` and
// `manual_vector` change a route, by one generation each.

#include "src/ledger/changes.hpp"
#include "src/ledger/chronicle.hpp"
#include "src/ledger/status.hpp"

#include <algorithm>

namespace assay::ledger {

namespace {

using moves::event;
using moves::state;

std::string legal_after(state from) {
  std::string list;
  for (auto e : moves::events)
    if (moves::next(from, e))
      list += (list.empty() ? "" : ", ") + std::string{moves::name(e)};
  return list.empty() ? "nothing" : list;
}

refusal not_allowed(const move_row& m, std::string_view what) {
  return {
    "not_allowed",
    "move " + in_quotes(m.plan.id.value) + " is " + std::string{moves::name(m.state)} + "; "
      + std::string{what} + " cannot follow, only " + legal_after(m.state)};
}

refusal unknown(const move_id& id) {
  return {"not_found", "there is no move " + in_quotes(id.value)};
}

std::uint64_t generation_of(const tables& t, const model_id& model) {
  auto* row = find(t.routes, model);
  return row ? row->route.generation : 0;
}

moves::vectors carried_by_route(const tables& t, const model_id& model) {
  auto* row = find(t.routes, model);
  return row ? row->route.carried : moves::vectors{};
}

void put_moved(change_set& c, move_row next, state to) {
  if (next.state != to)
    next.changed_at = c.now;
  next.state = to;
  next.seq = c.seq;
  c.about("route", next.plan.model.value);
  c.put(std::move(next));
}

// -- what may carry ---------------------------------------------------------------------------

bool may_carry(const change_set& c, const implementation_id& id) {
  return current_qualification(c.tables, id, c.now) || waiver_of(c.tables, id, 5, c.now);
}

/// A superseded qualification is good enough for a way back, until it expires.
bool may_carry_back(const change_set& c, const implementation_id& id) {
  if (may_carry(c, id))
    return true;
  return std::ranges::any_of(*c.tables.qualifications, [&](const auto& entry) {
    const auto& q = entry.second;
    return q.implementation == id && q.state == qualification::state::superseded
           && q.expires_at > c.now && !usable_fingerprints(c.tables, q).empty();
  });
}

/// I7: nothing carries traffic without evidence.
ruling unproven(const change_set& c, const moves::vectors& v) {
  for (const auto& id : moves::carriers(v))
    if (!may_carry(c, id))
      return refuse(
        "not_qualified",
        "implementation " + in_quotes(id.value)
          + " may not carry traffic: " + why_not_qualified(c.tables, id, c.now)
      );
  return {};
}

bool is_way_back(const change_set& c, const moves::vectors& v) {
  return std::ranges::all_of(moves::carriers(v), [&](const auto& id) {
    return may_carry_back(c, id);
  });
}

/// I10: some vector of the inverse plan could be put in place now.
bool has_way_back(const change_set& c, const inverse_plan& plan) {
  return plan.irreversible || plan.shed_load || is_way_back(c, plan.target)
         || std::ranges::any_of(plan.fallback, [&](const auto& v) { return is_way_back(c, v); });
}

bool is_in(const inverse_plan& plan, const moves::vectors& v) {
  if (v == plan.target || (plan.shed_load && !moves::carries_anything(v)))
    return true;
  return std::ranges::find(plan.fallback, v) != plan.fallback.end();
}

// -- proposals --------------------------------------------------------------------------------

ruling bad_vectors(const change_set& c, const model_id& model, const moves::vectors& v) {
  if (auto ok = moves::validate(v); !ok)
    return refuse("bad_vectors", to_text(ok.error()));
  for (const auto& id : moves::carriers(v)) {
    auto* i = find(c.tables.implementations, id);
    if (!i)
      return refuse("not_found", "there is no implementation " + in_quotes(id.value));
    if (i->what.model != model)
      return refuse(
        "bad_vectors",
        "implementation " + in_quotes(id.value) + " serves model " + in_quotes(i->what.model.value)
          + ", not " + in_quotes(model.value)
      );
  }
  return {};
}

ruling bad_plan(const change_set& c, const move_proposed& p) {
  if (p.steps.empty() || p.steps.back().carried != p.after)
    return refuse("bad_plan", "a move has at least one step, and the last one is its \"after\"");
  for (const auto& step : p.steps)
    if (auto why = bad_vectors(c, p.model, step.carried))
      return why;
  if (p.after == p.before)
    return refuse("unchanged", "the move would change nothing");
  if (p.inverse.irreversible ? p.inverse.note.empty() : p.inverse.target != p.before)
    return refuse(
      "bad_plan",
      "the inverse plan leads back to \"before\", or the move says that and why it cannot be undone"
    );
  for (const auto& v : p.inverse.fallback)
    if (auto why = bad_vectors(c, p.model, v))
      return why;
  for (const auto& g : p.guards)
    if (g.unit.empty())
      return refuse("bad_plan", "the guard " + in_quotes(g.metric) + " has no unit");
  if (!p.guards.empty() && !p.guarded)
    return refuse("bad_plan", "a move with guards is guarded");
  return {};
}

ruling bad_inverse(const change_set& c, const move_proposed& p) {
  if (!p.inverse_of)
    return {};
  auto* undone = find(c.tables.moves, *p.inverse_of);
  if (undone && undone->plan.model == p.model && undone->state == state::committed)
    return {};
  return refuse("bad_plan", "only a committed move of the same route can be undone by another");
}

/// I9: compare-and-set on the route.
ruling bad_start(const change_set& c, const move_proposed& p) {
  if (auto* open = open_move(c.tables, p.model))
    return refuse(
      "move_open",
      "the route of " + in_quotes(p.model.value) + " has the open move "
        + in_quotes(open->plan.id.value) + ", which is " + std::string{moves::name(open->state)}
        + "; wait for it, or abort it"
    );
  auto generation = generation_of(c.tables, p.model);
  if (p.expected_generation != generation || p.before != carried_by_route(c.tables, p.model))
    return refuse(
      "stale_generation",
      "the route is at generation " + std::to_string(generation) + ", not "
        + std::to_string(p.expected_generation) + ", or carries something else; plan again"
    );
  return {};
}

// -- authorisation ----------------------------------------------------------------------------

bool authorises(
  const change_set& c, const move_authorised& p, const implementation_id& implementation
) {
  auto* current = current_qualification(c.tables, implementation, c.now);
  if (current && std::ranges::find(p.qualifications, current->id) != p.qualifications.end())
    return true;
  return std::ranges::any_of(p.waivers, [&](const std::string& id) {
    auto* w = find(c.tables.waivers, id);
    return w && w->waiver.implementation == implementation && !w->ended
           && w->waiver.expires_at > c.now
           && std::ranges::find(w->waiver.gates, 5) != w->waiver.gates.end();
  });
}

ruling unauthorised(const change_set& c, const move_row& m, const move_authorised& p) {
  for (const auto& step : m.plan.steps)
    for (const auto& id : moves::carriers(step.carried))
      if (!authorises(c, p, id))
        return refuse(
          "not_qualified",
          "the authorisation names no current qualification or waiver of implementation "
            + in_quotes(id.value) + ": " + why_not_qualified(c.tables, id, c.now)
        );
  if (!has_way_back(c, m.plan.inverse))
    return refuse(
      "no_way_back",
      "nothing in the move's inverse plan is qualified now; add a fallback, let it shed load, or "
      "declare the move irreversible with its reason"
    );
  return {};
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

ruling change(change_set& c, const move_proposed& p) {
  if (auto why = bad_name("move", p.id.value))
    return why;
  if (find(c.tables.moves, p.id))
    return refuse("exists", "the move " + in_quotes(p.id.value) + " was proposed before");
  if (!find(c.tables.models, p.model))
    return refuse("not_found", "there is no model " + in_quotes(p.model.value));
  for (auto rule : {bad_start, bad_plan, bad_inverse})
    if (auto why = rule(c, p))
      return why;
  move_row m;
  m.plan = p;
  m.author = c.author;
  m.proposed_at = c.now;
  m.changed_at = c.now;
  m.record = c.record;
  put_moved(c, std::move(m), moves::first_state);
  return {};
}

ruling change(change_set& c, const move_authorised& p) {
  auto* m = find(c.tables.moves, p.id);
  if (!m)
    return unknown(p.id);
  auto to = moves::next(m->state, event::authorise);
  if (!to)
    return not_allowed(*m, "authorise");
  if (auto why = unauthorised(c, *m, p))
    return why;
  auto next = *m;
  next.qualifications = p.qualifications;
  next.waivers = p.waivers;
  put_moved(c, std::move(next), *to);
  return {};
}

ruling change(change_set& c, const move_route_changed& p) {
  auto* m = find(c.tables.moves, p.id);
  if (!m)
    return unknown(p.id);
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
    return unknown(p.id);
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
    return unknown(p.id);
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
