#include "src/routing/route.hpp"

#include "src/routing/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::routing {

namespace {

constexpr int reserve_tries = 4; ///< Against other threads that take the same credit.

using contract::failure;
using contract::traffic_class;

/// Spreads neighbouring numbers over the whole range (the finaliser of SplitMix64).
std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}

decision begin(const routing_snapshot& s, const query& q) {
  decision d;
  auto& t = d.trace;
  t.snapshot = s.generation();
  t.at = q.wall;
  t.project = q.caller.project;
  t.key = q.caller.key;
  t.traffic = q.caller.traffic;
  t.input_least = q.shape.input.least;
  t.input_most = q.shape.input.most;
  t.output_tokens = q.shape.output_tokens.value_or(0);
  t.operation = q.shape.operation;
  t.task = q.shape.task;
  t.prompts = q.shape.prompts;
  t.stream = q.shape.stream;
  t.retries = static_cast<std::uint16_t>(q.tried.size());
  return d;
}

void refuse(decision& d, failure why) {
  d.outcome = d.trace.outcome = outcome_kind::refused;
  d.failure = d.trace.failure = why;
  d.trace.nearest = d.nearest;
  if (why == failure::no_capacity)
    d.retry_after_seconds = static_cast<std::uint32_t>(limits::retry_after_default.count());
  if (why == failure::rate_limited)
    d.retry_after_seconds = 1;
}

void refuse_by_nearest(decision& d) {
  auto nothing_asked = d.nearest_implementation == none;
  refuse(d, nothing_asked ? failure::no_qualified_implementation : failure_of(d.nearest));
}

/// Sets `d.model`, or refuses.
bool resolve(const routing_snapshot& s, const query& q, decision& d) {
  auto index = s.find_model(q.model);
  if (index == none) {
    refuse(d, failure::model_not_found);
    return false;
  }
  const auto& m = s.models()[index];
  if (!may_use_model(s, q.caller, m)) {
    refuse(d, failure::model_not_allowed);
    return false;
  }
  d.model = &m;
  d.trace.model = index;
  return true;
}

void choose(
  decision& d, const routing_snapshot& s, const candidate& c, pool::reservation&& reservation
) {
  d.outcome = d.trace.outcome = outcome_kind::chosen;
  d.implementation = c.implementation;
  d.endpoint = c.seen.best;
  d.reservation = std::move(reservation);
  auto& t = d.trace;
  t.implementation = d.model->implementations[c.implementation->position];
  t.endpoint = static_cast<std::uint32_t>(c.seen.best - s.endpoints().data());
  t.signals.add(signal_class::portable);
  const auto& p = c.seen.predicted;
  t.predicted_ms = p.known ? static_cast<std::uint32_t>(std::min(p.seconds * 1e3, 4e9)) : 0;
  t.standing = c.seen.standing;
  if (c.seen.explored)
    t.flags.add(trace_flag::explored);
  if (c.seen.avoided)
    t.flags.add(trace_flag::avoided);
  if (!p.known)
    t.flags.add(trace_flag::rates_unknown);
  if (p.stale)
    t.flags.add(trace_flag::rates_stale);
}

bool reserve(decision& d, const question& q, const query& asked, candidate& c) {
  auto terms = pool::reserve_terms{.traffic = q.caller.traffic, .now = q.now};
  for (auto n = 0; n < reserve_tries && c.seen.best && c.seen.room > 0; ++n) {
    if (auto taken = pool::reservation::take(c.seen.best->counters, terms)) {
      d.trace.waived.value = c.waived;
      choose(d, q.snapshot, c, std::move(taken));
      return true;
    }
    c.seen = look_over(q, *c.implementation, asked.chance); // Another thread was faster.
  }
  return false;
}

/// The side of the split this request is on: the caller's own if the route is sticky.
std::uint32_t point_of(const query& q, const model_route* r, decision& d) {
  if (!r || !r->sticky || q.shape.affinity == 0)
    return static_cast<std::uint32_t>(q.chance % 10'000);
  d.trace.flags.add(trace_flag::sticky);
  return static_cast<std::uint32_t>(mix(q.shape.affinity ^ d.model->salt) % 10'000);
}

/// The best other candidate whose ceiling leaves room for more than its share.
std::size_t next_best(const field& f, const implementation_set& tried) {
  auto best = f.count;
  for (std::size_t n = 0; n < f.count; ++n) {
    const auto& p = f.portions[n];
    if (tried[n] || p.bps >= p.ceiling || f.candidates[n].seen.room == 0)
      continue;
    if (best == f.count || p.rank < f.portions[best].rank)
      best = n;
  }
  return best;
}

/// Too many wait already: who comes now would not be served before it gives up.
void refuse_to_queue(decision& d, const implementation& i, double wait, double patience) {
  auto as_ms = [](double seconds) {
    return static_cast<std::uint64_t>(std::min(seconds * 1e3, 1e12));
  };
  d.nearest = {
    gate::has_capacity, answer::refuse, reason::wait_too_long, as_ms(wait), as_ms(patience)};
  d.nearest_implementation = d.model->implementations[i.position];
  d.trace.waited_for_ms = static_cast<std::uint32_t>(std::min(wait * 1e3, 4e9));
  refuse(d, failure::no_capacity);
  auto most = static_cast<double>(limits::retry_after_max.count());
  d.retry_after_seconds = static_cast<std::uint32_t>(std::min(std::ceil(wait - patience), most));
}

/// Overload is a wait that is longer than anybody stays, not a number of requests. Where a wait
/// cannot be told, the queue's own bound holds.
void queue(decision& d, const question& q, const query& asked, const field& f, std::size_t first) {
  auto patience = std::chrono::duration<double>(asked.patience).count();
  auto shortest = std::numeric_limits<double>::infinity();
  for (std::size_t n = 0; n < f.count; ++n) {
    if (n != first && f.portions[n].bps >= f.portions[n].ceiling)
      continue;
    const auto& i = *f.candidates[n].implementation;
    d.acceptable.set(i.position);
    shortest = std::min(shortest, expected_wait(q, i).value_or(0));
  }
  if (shortest > patience)
    return refuse_to_queue(d, *f.candidates[first].implementation, shortest, patience);
  d.outcome = d.trace.outcome = outcome_kind::needs_ticket;
}

void pick(decision& d, const question& q, const query& asked, const model_route* r, field& f) {
  auto first = portion_at(f.all(), point_of(asked, r, d));
  if (first == f.count) // In the part that hard ceilings leave to nobody.
    return refuse_by_nearest(d);
  if (reserve(d, q, asked, f.candidates[first]))
    return;
  implementation_set tried;
  tried.set(first);
  for (auto n = next_best(f, tried); n < f.count; n = next_best(f, tried)) {
    if (reserve(d, q, asked, f.candidates[n]))
      return d.trace.flags.add(trace_flag::spilled);
    tried.set(n);
  }
  queue(d, q, asked, f, first);
}

/// Evaluation goes where it is pinned, and nobody else is pinned.
void route_pinned(decision& d, const question& q, const query& asked) {
  auto index = q.snapshot.find_implementation(asked.pin->implementation);
  d.trace.flags.add(trace_flag::pinned);
  if (index == none || &q.snapshot.models()[q.snapshot.implementations()[index].model] != d.model)
    return refuse(d, failure::invalid_request);
  const auto& i = q.snapshot.implementations()[index];
  bits waived;
  auto v = judge(q, i, waived);
  candidate c{&i, {}, waived.value};
  if (!v.refuses()) {
    c.seen = look_over(q, i, asked.chance);
    if (c.seen.usable > 0 && reserve(d, q, asked, c))
      return;
    v = has_capacity(q, i);
  }
  if (c.seen.usable > 0) {
    d.outcome = d.trace.outcome = outcome_kind::needs_ticket;
    d.acceptable.set(i.position);
    return;
  }
  d.nearest = v;
  d.nearest_implementation = index;
  refuse_by_nearest(d);
}

/// The route may have changed while the request waited.
bool is_reachable(const decision& d, const query& q, const implementation& i) {
  if (q.pin || q.caller.traffic == traffic_class::evaluation)
    return q.pin && q.caller.traffic == traffic_class::evaluation
           && q.pin->implementation == i.id.value;
  const auto* r = d.model->route_for(q.caller.traffic);
  auto index = d.model->implementations[i.position];
  return i.compatibility
         || (r && std::any_of(r->shares.begin(), r->shares.end(), [&](const auto& s) {
               return s.implementation == index && s.ceiling > 0;
             }));
}

} // namespace

decision route(const routing_snapshot& s, const query& q) {
  auto d = begin(s, q);
  if (!resolve(s, q, d))
    return d;
  auto asked = question_of(s, q, *d.model);
  auto is_evaluation = q.caller.traffic == traffic_class::evaluation;
  if (is_evaluation != q.pin.has_value()) {
    refuse(d, failure::invalid_request);
    return d;
  }
  if (is_evaluation) {
    route_pinned(d, asked, q);
    return d;
  }
  const auto* r = d.model->route_for(q.caller.traffic);
  d.trace.route = r ? r->generation : 0;
  d.trace.policy = r ? r->policy : route_policy::latency;
  field f;
  gather(asked, q, r, f, d);
  if (f.count == 0) {
    refuse_by_nearest(d);
    return d;
  }
  if (q.caller.over_own_share) {
    refuse(d, failure::rate_limited);
    return d;
  }
  weigh(asked, q, r, f, d);
  pick(d, asked, q, r, f);
  return d;
}

decision claim(const routing_snapshot& s, const query& q, const pool::endpoint_key& where) {
  const auto* e = s.find_endpoint(where);
  auto d = begin(s, q);
  if (!e || !resolve(s, q, d))
    return route(s, q);
  const auto& i = s.implementations()[e->implementation];
  auto asked = question_of(s, q, *d.model);
  bits waived;
  if (&s.models()[i.model] != d.model || !is_reachable(d, q, i) || judge(asked, i, waived).refuses() || !may_use(asked, i, *e))
    return route(s, q);
  auto terms = pool::reserve_terms{.traffic = q.caller.traffic, .now = q.now, .admitted = true};
  auto load = e->counters->look(terms);
  auto taken = pool::reservation::take(e->counters, terms);
  if (!taken)
    return route(s, q);
  const auto* r = d.model->route_for(q.caller.traffic);
  d.trace.route = r ? r->generation : 0;
  d.trace.policy = r ? r->policy : route_policy::latency;
  d.trace.waived = waived;
  d.trace.flags.add(trace_flag::admitted);
  work w{
    .input_tokens = q.shape.all_input().least,
    .output_tokens = q.shape.output_tokens.value_or(0),
    .in_flight = load.in_flight,
  };
  auto predicted = predict(s.brief_of(*e).pace, w, q.now);
  survey seen{e, 1, load.room, load.in_flight, predicted, e->counters->standing(), false, false};
  choose(d, s, {&i, seen, waived.value}, std::move(taken));
  return d;
}

std::vector<implementation_id> acceptable_ids(const routing_snapshot& s, const decision& d) {
  std::vector<implementation_id> ids;
  for (std::size_t n = 0; d.model && n < d.model->implementations.size(); ++n)
    if (d.acceptable[n])
      ids.push_back(s.implementations()[d.model->implementations[n]].id);
  return ids;
}

std::vector<pool::endpoint_key>
excluded_endpoints(const routing_snapshot& s, const query& q, const decision& d) {
  std::vector<pool::endpoint_key> keys;
  if (!d.model)
    return keys;
  auto asked = question_of(s, q, *d.model);
  for (std::size_t n = 0; n < d.model->implementations.size(); ++n) {
    if (!d.acceptable[n])
      continue;
    const auto& i = s.implementations()[d.model->implementations[n]];
    for (const auto& e : s.endpoints_of(i))
      if (e.takes_traffic && pool::serves(e.phase) && !may_use(asked, i, e))
        keys.push_back(e.counters->key());
  }
  return keys;
}

} // namespace assay::routing
