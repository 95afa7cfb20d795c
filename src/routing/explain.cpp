#include "src/routing/explain.hpp"

#include "src/routing/candidates.hpp"
#include "src/routing/words.hpp"

#include <algorithm>
#include <cstdio>
#include <map>

namespace assay::routing {

namespace {

std::string in_seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", seconds);
  return text;
}

std::string predicted_text(const prediction& p) {
  if (!p.known)
    return "not known yet: nothing was learnt of it";
  return in_seconds(p.seconds) + (p.stale ? " (from rates that are out of date)" : "");
}

std::string why_left_out(const pool::admission& a, steady_time now) {
  using pool::standing;
  auto again = a.until > now ? "; tried again in "
                                 + in_seconds(std::chrono::duration<double>(a.until - now).count())
                             : "";
  switch (a.standing) {
  case standing::failing:
    return "its last requests failed" + again;
  case standing::full:
    return "its engine says that it is full" + again;
  case standing::probing:
    return "one request finds out whether it serves again";
  case standing::stalled:
    return "its streams stand still for longer than its pace explains";
  case standing::wedged:
    return "it holds requests and says nothing for longer than its pace explains";
  case standing::fine:
  case standing::warming:
  case standing::stale:
    break;
  }
  return "it is left alone for now";
}

std::string why_unusable(const question& q, const implementation& i, const endpoint& e) {
  if (!pool::serves(e.phase))
    return "its replica is " + std::string{name(e.phase)};
  if (!e.takes_traffic)
    return "the coordinator does not admit it";
  if (is_out_of_reach(e))
    return std::string{pool::why_unreached(e.reach)};
  auto ruled = e.counters->ruled();
  if (ruled.tokens == 0 && q.caller.traffic != contract::traffic_class::evaluation)
    return why_left_out(ruled, q.now);
  if (!e.qualified && q.caller.traffic != contract::traffic_class::evaluation && !waiver_for(i, gate::evaluation_current, q.wall))
    return "its stack " + to_text(e.fingerprint) + " is not one of the "
           + std::to_string(i.qualified_fingerprints.size()) + " that were qualified";
  if (q.fingerprint && e.fingerprint != *q.fingerprint)
    return "its stack is not the one that was asked for";
  return "it was tried already";
}

explained_endpoint explain_endpoint(const question& q, const implementation& i, const endpoint& e) {
  explained_endpoint told{
    .replica = e.replica.value,
    .host = e.host.value,
    .phase = std::string{name(e.phase)},
    .standing = std::string{name(e.counters->ruled().standing)},
    .usable = may_use(q, i, e),
  };
  auto load = e.counters->look({.traffic = q.caller.traffic, .now = q.now});
  told.in_flight = load.in_flight;
  told.credits = e.counters->granted().credits;
  if (!told.usable) {
    told.why = why_unusable(q, i, e);
    return told;
  }
  work w{
    .input_tokens = q.shape.all_input().least,
    .output_tokens = q.shape.output_tokens.value_or(0),
    .in_flight = load.in_flight,
  };
  told.why = predicted_text(predict(q.snapshot.brief_of(e).pace, w, q.now));
  if (load.room == 0)
    told.why += "; no free credit for this class";
  if (e.counters->ruled().is_spared)
    told.why += "; used all the same, since as many others are out as may be";
  return told;
}

explained_implementation
explain_implementation(const question& q, const implementation& i, const model_route* r) {
  explained_implementation told{.id = i.id, .pool = i.pool, .status = i.status, .eligible = true};
  for (auto ask : gates) {
    explained_gate g{.what = ask(q, i)};
    g.text = to_text(g.what);
    if (g.what.answer == answer::waived)
      if (const auto* w = waiver_for(i, g.what.gate, q.wall))
        g.waiver = w->id;
    told.eligible = told.eligible && !g.what.refuses();
    told.gates.push_back(std::move(g));
  }
  for (const auto& e : q.snapshot.endpoints_of(i))
    told.endpoints.push_back(explain_endpoint(q, i, e));
  if (r)
    for (const auto& s : r->shares)
      if (s.implementation == q.model.implementations[i.position])
        told.in_route = s;
  told.predicted = "no usable replica";
  if (auto seen = look_over(q, i, ~std::uint64_t{0}); seen.best)
    told.predicted = predicted_text(seen.predicted);
  return told;
}

/// What `route` would do, without taking a credit.
std::string foretell(
  const routing_snapshot& s,
  const query& asked,
  const question& q,
  const model_route* r,
  decision& d,
  explanation& e
) {
  field f;
  gather(q, asked, r, f, d);
  if (f.count == 0) {
    d.failure = d.nearest_implementation == none ? contract::failure::no_qualified_implementation
                                                 : failure_of(d.nearest);
    const auto& row = contract::describe(d.failure);
    return "refused with " + std::to_string(row.status) + " " + std::string{row.code} + ": "
           + refusal_text(s, asked, d);
  }
  weigh(q, asked, r, f, d);
  auto has_room = false;
  for (std::size_t n = 0; n < f.count; ++n) {
    auto& told = e.implementations[f.candidates[n].implementation->position];
    told.share_bps = f.portions[n].bps;
    has_room = has_room || (f.candidates[n].seen.room > 0 && f.portions[n].ceiling > 0);
  }
  if (!has_room)
    return "would wait for a free credit";
  return std::to_string(f.count) + " of " + std::to_string(e.implementations.size())
         + " implementations may serve it; their shares are below";
}

void add_notes(explanation& e, const decision& d, const model_route* r) {
  const auto& flags = d.trace.flags;
  for (const auto& i : e.implementations)
    for (const auto& g : i.gates)
      if (!g.waiver.empty())
        e.notes.push_back(
          "waiver " + g.waiver + " covers gate " + std::string{name(g.what.gate)} + " of "
          + i.id.value
        );
  if (flags.has(trace_flag::cost_acts_as_latency))
    e.notes.push_back(
      "policy cost has no fresh figures for every implementation and acts as latency"
    );
  if (flags.has(trace_flag::compatibility))
    e.notes.push_back("no evidence covers this shape: it goes to the compatibility pool");
  if (!r)
    e.notes.push_back("the model has no route yet: one exists from the first promotion");
  e.signals.push_back("portable: requests in flight, credits, and rates learnt from past answers");
}

} // namespace

std::vector<std::string> out_of_reach(const routing_snapshot& s) {
  std::map<std::pair<std::string, pool::reach>, std::uint32_t> counts;
  for (const auto& e : s.endpoints())
    if (is_out_of_reach(e))
      ++counts[{e.host.value, e.reach}];
  std::vector<std::string> lines;
  for (const auto& [where, count] : counts)
    lines.push_back(
      "nothing is sent from here to " + std::to_string(count) + " replicas on host " + where.first
      + ": " + std::string{pool::why_unreached(where.second)}
    );
  return lines;
}

contract::shape
asked_by(const model& m, contract::shape shape, std::optional<contract::operation> operation) {
  if (!operation)
    operation = contract::usual_operation(m.promises.task);
  shape.operation = operation.value_or(shape.operation);
  shape.task = operation ? contract::describe(*operation).task : m.promises.task;
  return shape;
}

explanation explain(const routing_snapshot& s, const query& asked) {
  explanation e{.model = std::string{asked.model}};
  auto index = s.find_model(asked.model);
  if (index == none) {
    decision d;
    d.failure = contract::failure::model_not_found;
    e.outcome = "refused with 404 model_not_found: " + refusal_text(s, asked, d);
    return e;
  }
  decision d;
  d.model = &s.models()[index];
  auto q = question_of(s, asked, *d.model);
  const auto* r = d.model->route_for(asked.caller.traffic);
  if (d.model->id.value != asked.model)
    e.model += " (" + d.model->id.value + ")";
  e.policy = r ? std::string{name(r->policy)} : "none";
  e.route_generation = r ? r->generation : 0;
  for (auto position : d.model->implementations)
    e.implementations.push_back(explain_implementation(q, s.implementations()[position], r));
  if (!may_use_model(s, asked.caller, *d.model)) {
    d.failure = contract::failure::model_not_allowed;
    e.outcome = "refused with 403 model_not_allowed: " + refusal_text(s, asked, d);
  } else if (asked.caller.traffic == contract::traffic_class::evaluation)
    e.outcome = "evaluation traffic goes to the implementation that it is pinned to";
  else
    e.outcome = foretell(s, asked, q, r, d, e);
  add_notes(e, d, r);
  return e;
}

} // namespace assay::routing
