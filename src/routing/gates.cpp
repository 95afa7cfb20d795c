#include "src/routing/gates.hpp"

#include "src/base/limits.hpp"

#include <algorithm>

namespace assay::routing {

namespace {

constexpr verdict passed(gate g, reason r = reason::fine) {
  return {.gate = g, .reason = r};
}

constexpr verdict skipped(gate g) {
  return {.gate = g, .answer = answer::skip};
}

/// A refusal, unless a waiver covers the gate. Off the common path, and kept out of it.
[[gnu::noinline, gnu::cold]] verdict refused(
  const question& q,
  const implementation& i,
  gate g,
  reason why,
  std::uint64_t seen = 0,
  std::uint64_t allowed = 0
) {
  auto is_waived = !i.waivers.empty() && waiver_for(i, g, q.wall);
  return {g, is_waived ? answer::waived : answer::refuse, why, seen, allowed};
}

bool is_evaluation(const question& q) {
  return q.caller.traffic == contract::traffic_class::evaluation;
}

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

/// The tighter of two limits, of which 0 is none.
template <class T>
T tighter(T a, T b) {
  return a == 0 || (b != 0 && b < a) ? b : a;
}

/// Sizes against bounds: what a gate about tokens compares, in its order.
struct bounds {
  std::uint64_t input;
  std::uint64_t output;
  std::uint64_t context;
};

struct bound_reasons {
  reason input;
  reason output;
  reason context;
};

/// Surely out is a refusal; only maybe out is left to the engine, which knows.
verdict against(
  const question& q, const implementation& i, gate g, const bounds& most, const bound_reasons& why
) {
  const auto& size = q.shape;
  auto output = std::uint64_t{size.output_tokens.value_or(0)};
  if (most.output && output > most.output)
    return refused(q, i, g, why.output, output, most.output);
  if (most.input && size.input.least > most.input)
    return refused(q, i, g, why.input, size.input.least, most.input);
  if (most.context && size.input.least + output > most.context)
    return refused(q, i, g, why.context, size.input.least + output, most.context);
  if (most.input && size.input.most > most.input)
    return {g, answer::unsure, why.input, size.input.most, most.input};
  if (most.context && size.input.most + output > most.context)
    return {g, answer::unsure, why.context, size.input.most + output, most.context};
  return passed(g);
}

bool is_past(wall_ms now, wall_ms end, std::chrono::milliseconds grace) {
  return now.value > end.value + grace.count();
}

} // namespace

const waiver* waiver_for(const implementation& i, gate g, wall_ms now) {
  for (const auto& w : i.waivers)
    if (w.gates.has(g) && (!w.expires || now < *w.expires))
      return &w;
  return nullptr;
}

caller caller_of(const routing_snapshot& s, const key& k) {
  return {.traffic = k.traffic, .project = k.project, .key = s.index_of(k)};
}

verdict serves_task(const question& q, const implementation& i) {
  constexpr auto g = gate::serves_task;
  const auto& promises = q.model.promises;
  if (q.shape.task != promises.task || q.shape.task != i.task)
    return refused(q, i, g, reason::other_task);
  if (!i.operations.has(q.shape.operation))
    return refused(q, i, g, reason::not_offered);
  if (q.shape.stream && (!promises.streaming || !i.streaming))
    return refused(q, i, g, reason::streaming_unsupported);
  for (const auto& feature : q.shape.features) {
    auto is_promised = promises.features.empty() || contains(promises.features, feature);
    if (!is_promised || (i.features && !contains(*i.features, feature)))
      return refused(q, i, g, reason::feature_unsupported);
  }
  return passed(g);
}

verdict artifact_approved(const question& q, const implementation& i) {
  constexpr auto g = gate::artifact_approved;
  if (is_evaluation(q))
    return skipped(g);
  if (!i.artifact_verified)
    return refused(q, i, g, reason::artifact_unverified);
  if (!i.admits.has(q.caller.traffic))
    return refused(q, i, g, reason::class_not_admitted);
  auto projects = q.snapshot.projects();
  if (i.only_project && (q.caller.project >= projects.size() || projects[q.caller.project].id != *i.only_project))
    return refused(q, i, g, reason::other_projects_only);
  return passed(g);
}

verdict within_limits(const question& q, const implementation& i) {
  constexpr auto g = gate::within_limits;
  const auto& promised = q.model.promises.limits;
  auto body = tighter(promised.body_bytes, i.limits.body_bytes);
  if (body && q.shape.body_bytes > body)
    return refused(q, i, g, reason::body_too_large, q.shape.body_bytes, body);
  return against(
    q,
    i,
    g,
    {tighter(promised.input_tokens, i.limits.input_tokens),
     tighter(promised.output_tokens, i.limits.output_tokens),
     tighter(promised.context_tokens, i.limits.context_tokens)},
    {reason::input_too_long, reason::output_too_long, reason::context_too_long}
  );
}

verdict within_evidence(const question& q, const implementation& i) {
  constexpr auto g = gate::within_evidence;
  if (is_evaluation(q))
    return skipped(g);
  if (!i.envelope)
    return refused(q, i, g, reason::no_envelope);
  const auto& proven = *i.envelope;
  if (proven.any_shape)
    return passed(g);
  if (q.shape.stream && !proven.streaming)
    return refused(q, i, g, reason::streaming_unproven);
  if (!q.shape.stream && !proven.unary)
    return refused(q, i, g, reason::unary_unproven);
  return against(
    q,
    i,
    g,
    {proven.input_tokens, proven.output_tokens, proven.context_tokens},
    {reason::input_past_evidence, reason::output_past_evidence, reason::context_past_evidence}
  );
}

verdict evaluation_current(const question& q, const implementation& i) {
  constexpr auto g = gate::evaluation_current;
  if (is_evaluation(q))
    return skipped(g);
  switch (i.evaluation) {
  case evaluation_state::missing:
    return refused(q, i, g, reason::never_evaluated);
  case evaluation_state::expired:
    return refused(q, i, g, reason::evaluation_expired);
  case evaluation_state::suspended:
    return refused(q, i, g, reason::evaluation_suspended);
  case evaluation_state::revoked:
    return refused(q, i, g, reason::evaluation_revoked);
  case evaluation_state::current:
    break;
  }
  // The leader proposes the expiry; this clock only shuts the gate when that did not come.
  if (i.evaluation_expires && is_past(q.wall, *i.evaluation_expires, limits::expiry_grace)) {
    auto late = q.wall.value - i.evaluation_expires->value;
    return refused(q, i, g, reason::evaluation_expired, static_cast<std::uint64_t>(late));
  }
  if (i.serving > 0 && i.serving_qualified == 0)
    return refused(q, i, g, reason::no_qualified_host, i.serving);
  return passed(g);
}

verdict data_allowed(const question& q, const implementation& i) {
  constexpr auto g = gate::data_allowed;
  if (!i.pool_holds_data)
    return refused(q, i, g, reason::pool_data_class);
  auto projects = q.snapshot.projects();
  if (q.caller.project >= projects.size())
    return passed(g);
  const auto& allowed = projects[q.caller.project].data_classes;
  if (!allowed.empty() && !contains(allowed, q.model.promises.data_class))
    return refused(q, i, g, reason::project_data_class);
  return passed(g);
}

verdict economics_acceptable(const question& q, const implementation& i) {
  constexpr auto g = gate::economics_acceptable;
  if (is_evaluation(q))
    return skipped(g);
  if (!q.model.cost_ceiling_nano)
    return passed(g, reason::no_ceiling);
  auto ceiling = *q.model.cost_ceiling_nano;
  if (!i.cost || i.cost->provenance.empty())
    return refused(q, i, g, reason::cost_unknown, 0, ceiling);
  if (i.cost->fresh_until && is_past(q.wall, *i.cost->fresh_until, {}))
    return refused(q, i, g, reason::cost_stale, i.cost->nano_per_unit, ceiling);
  if (i.cost->nano_per_unit > ceiling)
    return refused(q, i, g, reason::cost_too_high, i.cost->nano_per_unit, ceiling);
  return passed(g);
}

bool may_use(const question& q, const implementation& i, const endpoint& e) {
  const auto& b = q.snapshot.brief_of(e);
  if (!b.serves || b.counters->is_left_out(q.caller.traffic))
    return false;
  if (!b.qualified && !is_evaluation(q) && !waiver_for(i, gate::evaluation_current, q.wall))
    return false;
  if (q.fingerprint && e.fingerprint != *q.fingerprint)
    return false;
  return std::none_of(q.tried.begin(), q.tried.end(), [&](const pool::endpoint_key& k) {
    return k.generation == b.generation && k == b.counters->key();
  });
}

/// No number of requests is refused here by guess: a queue decides that (src/pool).
verdict has_capacity(const question& q, const implementation& i) {
  constexpr auto g = gate::has_capacity;
  auto terms = pool::reserve_terms{.traffic = q.caller.traffic, .now = q.now};
  auto queued = terms;
  queued.admitted = true;
  std::uint32_t usable = 0;
  std::uint32_t left_out = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t credits = 0;
  auto is_queue_first = false;
  for (const auto& e : q.snapshot.endpoints_of(i)) {
    if (!may_use(q, i, e)) {
      const auto& b = q.snapshot.brief_of(e);
      left_out += b.serves && b.counters->is_left_out(q.caller.traffic) ? 1 : 0;
      continue;
    }
    ++usable;
    auto load = e.counters->look(terms);
    if (load.room > 0 && e.phase == pool::phase::ready)
      return {g, answer::pass, reason::fine, load.in_flight, load.in_flight + load.room};
    is_queue_first = is_queue_first || e.counters->room(queued) > 0;
    in_flight += load.in_flight;
    credits += e.counters->granted().credits;
  }
  if (usable == 0 && left_out > 0 && q.tried.empty())
    return {g, answer::refuse, reason::all_left_out, left_out};
  if (usable == 0 && i.serving > 0 && !q.tried.empty())
    return {g, answer::refuse, reason::all_tried};
  if (usable == 0 && i.serving == 0 && i.out_of_reach > 0)
    return {g, answer::refuse, reason::other_host, i.out_of_reach};
  if (usable == 0)
    return {g, answer::refuse, reason::no_replica};
  auto why = is_queue_first ? reason::queue_first : reason::no_credit;
  return {g, answer::refuse, why, in_flight, credits};
}

const std::array<gate_function, gate_count> gates{
  serves_task,
  artifact_approved,
  within_limits,
  within_evidence,
  evaluation_current,
  data_allowed,
  economics_acceptable,
  has_capacity,
};

namespace {

/// Called by name and not through the table, so that the compiler sees through all seven. A pass is
/// not copied: reading a verdict whole right after its bytes were written stalls the processor for
/// longer than the gate itself takes (half of route() was that).
template <gate_function... Gates>
verdict first_refusal(const question& q, const implementation& i, bits& waived) {
  verdict v;
  auto stops = [&](const verdict& next) {
    if (next.answer == answer::waived)
      waived.add(next.gate);
    if (!next.refuses())
      return false;
    v = next;
    return true;
  };
  (void)(stops(Gates(q, i)) || ...);
  return v;
}

} // namespace

verdict judge(const question& q, const implementation& i, bits& waived) {
  return first_refusal<
    serves_task,
    artifact_approved,
    within_limits,
    within_evidence,
    evaluation_current,
    data_allowed,
    economics_acceptable>(q, i, waived);
}

} // namespace assay::routing
