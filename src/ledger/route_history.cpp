// How a route came to be: its changes, and nothing else of what was said about it.

#include "src/ledger/who_served.hpp"
#include "src/moves/plan.hpp"

namespace assay::ledger {

citation cite(const kept_record& r) {
  auto reason = r.record.reason_code;
  if (!r.record.reason_text.empty())
    reason += (reason.empty() ? "" : ": ") + r.record.reason_text;
  return {r.stamp.seq, r.stamp.record, r.stamp.stamped_at, r.record.author, std::move(reason)};
}

problem no_route(const tables& t, const model_id& route) {
  std::string names;
  for (const auto& [model, _] : *t.routes)
    names += (names.empty() ? "" : ", ") + model.value;
  return {
    problem_kind::not_found,
    "there is no route \"" + route.value + "\"",
    {},
    names.empty() ? "no model was promoted yet" : "routes: " + names};
}

result<std::vector<route_change>, problem>
route_history(const chronicle& c, const model_id& route, std::size_t count) {
  auto indexed = has_indexes(c);
  if (!indexed)
    return unexpected{indexed.error()};
  if (!find(c.now().routes, route))
    return unexpected{no_route(c.now(), route)};
  record_walk records{
    c,
    subject_of(*indexed ? indexes::route_change : "route", route.value),
    c.now().head.seq,
    direction::older};
  std::vector<route_change> found;
  while (found.size() < count) {
    auto one = records.step();
    if (!one)
      return unexpected{one.error()};
    if (!*one)
      break;
    if (auto* p = std::get_if<move_route_changed>(&(*one)->record.payload))
      found.push_back({cite(**one), p->generation, p->event, p->carried, p->id});
  }
  return found;
}

std::vector<std::vector<described_field>> rows_of(const std::vector<route_change>& changes) {
  std::vector<std::vector<described_field>> rows;
  for (const auto& c : changes)
    rows.push_back(
      {{"generation", std::to_string(c.generation)},
       {"since", time_text(c.changed.stamped_at)},
       {"carries", moves::to_text(c.carried)},
       {"by", std::string{moves::name(c.event)}},
       {"move", c.move.value},
       {"author", c.changed.author.who + " (" + std::string{name(c.changed.author.how)} + ")"},
       {"reason", c.changed.reason},
       {"seq", std::to_string(c.changed.seq)},
       {"record", to_text(c.changed.record)}}
    );
  return rows;
}

} // namespace assay::ledger
