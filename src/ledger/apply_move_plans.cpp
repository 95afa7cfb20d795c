// A move until it is authorised: what may be planned, and what may carry traffic at all. Its
// transitions are src/moves/move.hpp's.

#include "src/ledger/move_rules.hpp"

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

/// I10: some vector of the inverse plan could be put in place now.
bool has_way_back(const change_set& c, const inverse_plan& plan) {
  return plan.irreversible || plan.shed_load || is_way_back(c, plan.target)
         || std::ranges::any_of(plan.fallback, [&](const auto& v) { return is_way_back(c, v); });
}

// -- proposals --------------------------------------------------------------------------------

/// I11: the text that guards are judged by is the digest's, and stays so.
bool is_policy(const tables& t, const digest& record) {
  return std::ranges::any_of(*t.policies, [&](const auto& p) { return p.second.record == record; });
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
  if (p.policy != digest{} && !is_policy(c.tables, p.policy))
    return refuse(
      "unknown_policy",
      "no policy stands under the digest " + to_text(p.policy)
        + "; a move is guarded by a policy as it is declared now, so plan again"
    );
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

/// I16: what was judged is what stands; a revocation or suspension that came between wins.
ruling judged_too_early(const change_set& c, const move_authorised& p) {
  if (p.versions.empty())
    return {};
  if (p.versions.size() != p.qualifications.size())
    return refuse(
      "bad_authorisation",
      "the authorisation names " + std::to_string(p.qualifications.size())
        + " qualifications and the versions of " + std::to_string(p.versions.size())
    );
  for (std::size_t i = 0; i < p.versions.size(); ++i) {
    auto* q = find(c.tables.qualifications, p.qualifications[i]);
    if (q && q->seq != p.versions[i])
      return refuse(
        "stale_qualification",
        "qualification " + in_quotes(q->id.value) + " was judged as of seq "
          + std::to_string(p.versions[i]) + " and changed at seq " + std::to_string(q->seq)
          + "; look at it again, then authorise"
      );
  }
  return {};
}

ruling unauthorised(const change_set& c, const move_row& m, const move_authorised& p) {
  if (auto why = judged_too_early(c, p))
    return why;
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

} // namespace

std::uint64_t generation_of(const tables& t, const model_id& model) {
  auto* row = find(t.routes, model);
  return row ? row->route.generation : 0;
}

moves::vectors carried_by_route(const tables& t, const model_id& model) {
  auto* row = find(t.routes, model);
  return row ? row->route.carried : moves::vectors{};
}

void put_moved(change_set& c, move_row next, moves::state to) {
  if (next.state != to)
    next.changed_at = c.now;
  next.state = to;
  next.seq = c.seq;
  c.about("route", next.plan.model.value);
  c.put(std::move(next));
}

refusal not_allowed(const move_row& m, std::string_view what) {
  return {
    "not_allowed",
    "move " + in_quotes(m.plan.id.value) + " is " + std::string{moves::name(m.state)} + "; "
      + std::string{what} + " cannot follow, only " + legal_after(m.state)};
}

refusal unknown_move(const move_id& id) {
  return {"not_found", "there is no move " + in_quotes(id.value)};
}

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
    return unknown_move(p.id);
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

} // namespace assay::ledger
