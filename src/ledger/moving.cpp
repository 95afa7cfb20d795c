#include "src/ledger/moving.hpp"

#include "src/base/peer_limits.hpp"
#include "src/ledger/status.hpp"
#include "src/qualification/drift.hpp"
#include "src/qualification/expiry.hpp"

#include <algorithm>
#include <chrono>

namespace assay::ledger {

namespace {

constexpr std::uint8_t artifact_gate = 2;
constexpr std::uint8_t evaluation_gate = 5;

bool is_usable(const tables& t, const catalog::implementation& i, wall_ms now) {
  auto approved = is_artifact_approved(t, i.artifact) || waiver_of(t, i.id, artifact_gate, now);
  auto qualified = current_qualification(t, i.id, now) || waiver_of(t, i.id, evaluation_gate, now);
  return approved && qualified;
}

/// A replica that takes traffic, on a stack that the implementation is qualified for (or waived).
bool is_ready(const tables& t, const implementation_id& id, const moving_world& world) {
  const auto* qualification = current_qualification(t, id, world.now);
  auto waived = waiver_of(t, id, evaluation_gate, world.now) != nullptr;
  for (const auto& [name, view] : world.pools)
    for (const auto& replica : view->replicas)
      if (replica.implementation == id && replica.takes_traffic
          && (waived
              || (qualification
                  && qualification::is_member(replica.fingerprint, qualification->fingerprints))))
        return true;
  return false;
}

std::vector<qualification_id>
qualifications_of(const tables& t, const moves::vectors& carried, wall_ms now) {
  std::vector<qualification_id> ids;
  for (const auto& id : moves::carriers(carried))
    if (const auto* row = current_qualification(t, id, now))
      ids.push_back(row->id);
  return ids;
}

std::vector<std::string> waivers_of(const tables& t, const moves::vectors& carried, wall_ms now) {
  std::vector<std::string> ids;
  for (const auto& id : moves::carriers(carried))
    for (auto gate : {artifact_gate, evaluation_gate})
      if (const auto* row = waiver_of(t, id, gate, now);
          row && std::ranges::find(ids, row->waiver.id) == ids.end())
        ids.push_back(row->waiver.id);
  return ids;
}

/// As judged now: what changes before the record is applied makes it stale.
move_authorised authorisation_of(const tables& t, const move_row& row, wall_ms now) {
  const auto& carried = row.plan.after;
  move_authorised p{
    row.plan.id, qualifications_of(t, carried, now), waivers_of(t, carried, now), {}};
  for (const auto& id : p.qualifications)
    p.versions.push_back(find(t.qualifications, id)->seq);
  return p;
}

/// Generation of the route that the ingress runs, or a later one than it does.
std::uint64_t generation_at(const ingress_runs& one, const route_row& route) {
  if (!one.seq)
    return 0;
  auto now = route.route.generation;
  return *one.seq >= route.seq ? now : now - 1;
}

/// One that has been silent for so long holds no credit: it serves only what a contract's
/// `degraded` rule leaves it, and the ledger tells it of the move before it gets credits again.
bool is_gone(const ingress_runs& one, steady_time now) {
  return now - one.heard_at >= limits::ingress_gone;
}

bool is_required(const ingress_runs& one, steady_time now) {
  return one.seq != 0 && !is_gone(one, now);
}

std::vector<acknowledgement> acknowledgements(const moving_world& world, const route_row& route) {
  std::vector<acknowledgement> all;
  for (const auto& one : world.ingresses)
    if (is_required(one, world.steady_now))
      all.push_back({one.name, generation_at(one, route)});
  return all;
}

std::string names_of_gone(const moving_world& world) {
  std::string names;
  for (const auto& one : world.ingresses)
    if (one.seq != 0 && is_gone(one, world.steady_now))
      names += (names.empty() ? "" : ", ") + one.name;
  return names;
}

std::vector<acknowledgement>
acknowledgements_of(const tables& t, const moving_world& world, const move_row& row) {
  const auto* route = find(t.routes, row.plan.model);
  return route ? acknowledgements(world, *route) : std::vector<acknowledgement>{};
}

observation observation_of(const move_proposed& plan) {
  // Without guards nothing was observed, and the record says that.
  return plan.guarded ? observation::no_data : observation::none;
}

} // namespace

std::vector<ingress_runs> ingresses_of(
  const tables& t, std::uint64_t own, const std::vector<ingress_runs>& heard, steady_time began
) {
  auto is_known = [](const auto& all, std::uint64_t node, auto id) {
    return std::ranges::find(all, node, id) != all.end();
  };
  std::vector<ingress_runs> all;
  for (const auto& one : heard)
    if (one.node == own || is_known(t.head.members, one.node, &member::id))
      all.push_back(one);
  for (const auto& m : t.head.members)
    if ((m.id == own || !m.ingress.empty()) && !is_known(all, m.id, &ingress_runs::node))
      all.push_back({m.id, m.name, {}, began});
  std::ranges::sort(all, {}, &ingress_runs::node);
  return all;
}

moves::route route_of(const tables& t, const model_id& model) {
  const auto* row = find(t.routes, model);
  return row ? row->route : moves::route{model, 0, {}};
}

move_proposed
proposal_of(const tables& t, const move_id& id, const moves::plan& plan, const std::string& cause) {
  move_proposed p{
    .id = id,
    .model = plan.model,
    .expected_generation = plan.expected_generation,
    .before = plan.before,
    .after = plan.after,
    .steps = {{plan.after, static_cast<std::uint64_t>(plan.hold.count())}},
    .inverse = {},
    .policy = {},
    .guarded = plan.guarded,
    .guards = {},
    .bake_ms = static_cast<std::uint64_t>(plan.bake.count()),
    .inverse_of = plan.inverse_of,
    .cause = cause,
  };
  p.inverse.shed_load = plan.inverse.shed_load;
  p.inverse.irreversible = !plan.inverse.reversible;
  p.inverse.note = plan.inverse.irreversible_because;
  if (!plan.inverse.targets.empty()) {
    p.inverse.target = plan.inverse.targets.front();
    p.inverse.fallback.assign(plan.inverse.targets.begin() + 1, plan.inverse.targets.end());
  }
  if (const auto* model = find(t.models, plan.model))
    if (const auto* policy = find(t.policies, model->what.evaluation_policy))
      p.policy = policy->record;
  return p;
}

moves::plan plan_of(const move_proposed& p) {
  moves::plan plan{
    .model = p.model,
    .expected_generation = p.expected_generation,
    .before = p.before,
    .after = p.after,
    .inverse = {},
    .inverse_of = p.inverse_of,
    .hold = std::chrono::milliseconds{p.steps.empty() ? 0 : p.steps.front().hold_ms},
    .bake = std::chrono::milliseconds{p.bake_ms},
    .guarded = p.guarded,
  };
  plan.inverse.targets = {p.inverse.target};
  plan.inverse.targets.insert(
    plan.inverse.targets.end(), p.inverse.fallback.begin(), p.inverse.fallback.end()
  );
  plan.inverse.shed_load = p.inverse.shed_load;
  plan.inverse.reversible = !p.inverse.irreversible;
  plan.inverse.irreversible_because = p.inverse.note;
  return plan;
}

std::vector<implementation_id> usable_for(const tables& t, const model_id& model, wall_ms now) {
  std::vector<implementation_id> usable;
  for (const auto& [id, row] : *t.implementations)
    if (row.what.model == model && is_usable(t, row.what, now))
      usable.push_back(id);
  return usable;
}

moves::open_move open_move_of(const move_row& row) {
  return {
    .id = row.plan.id,
    .plan = plan_of(row.plan),
    .state = row.state,
    .entered_at = row.changed_at,
    .generation = row.generation,
    .targets_tried = row.targets_tried,
  };
}

moves::observed observe(const tables& t, const move_row& row, const moving_world& world) {
  moves::observed seen{
    .now = world.now,
    .current = route_of(t, row.plan.model),
    .usable = usable_for(t, row.plan.model, world.now),
    .ready = {},
    .not_waited_for = names_of_gone(world),
  };
  auto all = acknowledgements_of(t, world, row);
  auto last = std::ranges::min_element(all, {}, &acknowledgement::generation);
  if (last != all.end()) {
    seen.acknowledged = last->generation;
    seen.last = last->node;
  }
  for (const auto& id : seen.usable)
    if (is_ready(t, id, world))
      seen.ready.push_back(id);
  if (auto wish = world.wishes.find(row.plan.id); wish != world.wishes.end())
    seen.asked = wish->second;
  return seen;
}

payload record_of(
  const tables& t, const move_row& row, const moves::propose& what, const moving_world& world
) {
  const auto& id = row.plan.id;
  switch (what.what) {
  case moves::event::authorise:
    return authorisation_of(t, row, world.now);
  case moves::event::stage:
  case moves::event::acked:
  case moves::event::revert_acked:
    return move_acked{id, what.what, acknowledgements_of(t, world, row)};
  case moves::event::step:
  case moves::event::retarget:
  case moves::event::manual_vector:
    return move_route_changed{
      .id = id,
      .event = what.what,
      .step = row.steps_done,
      .generation = what.expected_generation + 1,
      .carried = what.carry.value_or(moves::vectors{}),
      .guards = observation_of(row.plan),
      .detail = what.why,
    };
  default:
    return move_changed{id, what.what, observation_of(row.plan), what.why};
  }
}

std::vector<payload> due_records(const tables& t, wall_ms now) {
  std::vector<payload> due;
  for (const auto& [id, row] : *t.qualifications) {
    auto holds =
      row.state == qualification::state::qualified || row.state == qualification::state::suspended;
    if (holds && qualification::is_expired(now, row.expires_at))
      due.push_back(qualification_changed{id, qualification::event::expire, {}, "its time is over"}
      );
  }
  return due;
}

} // namespace assay::ledger
