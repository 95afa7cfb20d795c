#include "src/base/limits.hpp"
#include "src/ledger/apply.hpp"
#include "src/ledger/schema.hpp"

#include <algorithm>
#include <chrono>
#include <set>

namespace assay::ledger {

namespace {

void check_routes(const tables& t, std::vector<std::string>& broken) {
  for (const auto& [model, row] : *t.routes) {
    if (auto ok = moves::validate(row.route.carried); !ok)
      broken.push_back("I8: the route of \"" + model.value + "\": " + to_text(ok.error()));
    if (row.route.generation == 0)
      broken.push_back("I8: the route of \"" + model.value + "\" has no generation");
    if (!find(t.moves, row.by))
      broken.push_back("I8: no move made the route of \"" + model.value + "\"");
  }
}

void check_moves(const tables& t, std::vector<std::string>& broken) {
  std::set<model_id> open;
  for (const auto& [id, row] : *t.moves) {
    if (moves::is_open(row.state) && !open.insert(row.plan.model).second)
      broken.push_back("I9: the route of \"" + row.plan.model.value + "\" has two open moves");
    auto* route = find(t.routes, row.plan.model);
    if (row.generation > (route ? route->route.generation : 0))
      broken.push_back("I8: move \"" + id.value + "\" is ahead of its route");
    if (!row.plan.inverse.irreversible && row.plan.inverse.target != row.plan.before)
      broken.push_back("I10: move \"" + id.value + "\" has no way back");
    for (const auto& g : row.plan.guards)
      if (g.unit.empty())
        broken.push_back(
          "I22: the guard \"" + g.metric + "\" of move \"" + id.value + "\" has no unit"
        );
  }
}

/// What carries traffic was declared and decided once; whether it still holds is a matter of time.
void check_carriers(const tables& t, std::vector<std::string>& broken) {
  auto decided = [&](const implementation_id& id) {
    return std::ranges::any_of(
             *t.qualifications,
             [&](const auto& q) {
               return q.second.implementation == id && !q.second.fingerprints.empty();
             }
           )
           || std::ranges::any_of(*t.waivers, [&](const auto& w) {
                return w.second.waiver.implementation == id;
              });
  };
  for (const auto& [model, row] : *t.routes)
    for (const auto& id : moves::carriers(row.route.carried))
      if (!find(t.implementations, id) || !decided(id))
        broken.push_back("I7: \"" + id.value + "\" carries traffic without any decision");
}

void check_predicates(const qualification_row& q, std::vector<std::string>& broken) {
  for (const auto& p : q.predicates) {
    auto which = "the predicate \"" + p.name + "\" of qualification \"" + q.id.value + "\"";
    if (p.outcome != predicate_outcome::pass)
      broken.push_back("I12: " + which + " did not pass");
    if (p.unit.empty())
      broken.push_back("I22: " + which + " has no unit");
  }
}

void check_qualifications(const tables& t, std::vector<std::string>& broken) {
  for (const auto& [id, q] : *t.qualifications) {
    if (q.state == qualification::state::qualified && q.fingerprints.empty())
      broken.push_back("I13: qualification \"" + id.value + "\" holds on no stack");
    if (!std::ranges::is_sorted(q.fingerprints))
      broken.push_back("I13: the stacks of qualification \"" + id.value + "\" are not sorted");
    if (q.state == qualification::state::qualified)
      check_predicates(q, broken);
    for (const auto& run : q.runs)
      if (!find(t.runs, run) && q.state == qualification::state::qualified)
        broken.push_back("I12: qualification \"" + id.value + "\" names the unknown run " + run);
  }
}

void check_waivers(const tables& t, std::vector<std::string>& broken) {
  constexpr auto longest = std::chrono::milliseconds{limits::waiver_life}.count();
  for (const auto& [id, row] : *t.waivers)
    if (row.waiver.expires_at.value - row.granted_at.value > longest)
      broken.push_back("I21: waiver \"" + id + "\" does not end within 24 hours");
}

void check_standings(const tables& t, std::vector<std::string>& broken) {
  for (const auto& [name, row] : *t.identities) {
    if (!row.standing)
      continue;
    if (row.identity.role != identity_role::host)
      broken.push_back("hosts: \"" + name + "\" has a standing and is no host");
    if (row.standing->reason.empty() || row.standing->author.empty())
      broken.push_back("hosts: nobody says why \"" + name + "\" has its standing");
    if (agreed_schema(t.head) < 2)
      broken.push_back("hosts: \"" + name + "\" has a standing that nobody agreed to know");
  }
}

void check_checkpoints(const tables& t, std::vector<std::string>& broken) {
  const job_checkpoint* before = nullptr;
  for (const auto& [_, p] : *t.checkpoints) {
    if (before && before->job == p.job && before->first + before->count > p.first)
      broken.push_back("items of job \"" + p.job.value + "\" are done twice");
    before = &p;
  }
}

} // namespace

std::vector<std::string> broken_invariants(const tables& t) {
  std::vector<std::string> broken;
  check_routes(t, broken);
  check_moves(t, broken);
  check_carriers(t, broken);
  check_qualifications(t, broken);
  check_waivers(t, broken);
  check_standings(t, broken);
  check_checkpoints(t, broken);
  return broken;
}

} // namespace assay::ledger
