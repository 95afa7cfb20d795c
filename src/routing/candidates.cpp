#include "src/routing/candidates.hpp"

#include "src/pool/queue.hpp"

#include <algorithm>

namespace assay::routing {

namespace {

/// An endpoint that is new, back after it was out, or of which nothing is known gets a quarter of
/// the choices.
bool is_warm_up(std::uint64_t chance) {
  return chance >> 62 == 0;
}

std::uint32_t middle(const contract::token_estimate& e) {
  return e.least + (e.most - std::min(e.least, e.most)) / 2;
}

rank rank_of(
  const prediction& p,
  std::uint32_t in_flight,
  std::uint32_t slots,
  bool warm_up,
  pool::standing standing
) {
  using pool::standing::probing, pool::standing::stale, pool::standing::warming;
  // One that is not heard of comes after all that are.
  if (p.known && standing != warming && standing != probing)
    return {standing == stale ? 4U : 1U, p.seconds, 0};
  auto load = static_cast<double>(in_flight) / std::max(slots, 1U);
  return {warm_up ? 0U : 2U, load, 0};
}

void note_refusal(decision& d, const implementation& i, const verdict& v) {
  auto index = d.model->implementations[i.position];
  auto& t = d.trace;
  if (t.refused < t.refusals.size())
    t.refusals[t.refused] = {index, v.gate, v.reason};
  ++t.refused;
  if (d.nearest_implementation == none || v.gate > d.nearest.gate) {
    d.nearest = v;
    d.nearest_implementation = index;
  }
}

/// True: it is a candidate. False: a gate refused it, and `d` knows.
bool consider(
  const question& q,
  const query& asked,
  const implementation& i,
  const share& s,
  field& f,
  decision& d
) {
  ++d.trace.considered;
  bits waived;
  auto v = judge(q, i, waived);
  survey seen{};
  if (!v.refuses()) {
    seen = look_over(q, i, asked.chance);
    if (seen.usable == 0)
      v = has_capacity(q, i);
  }
  if (v.refuses()) {
    note_refusal(d, i, v);
    f.lacks_evidence =
      f.lacks_evidence || v.gate == gate::within_evidence || v.gate == gate::evaluation_current;
    return false;
  }
  f.candidates[f.count] = {&i, seen, waived.value};
  f.portions[f.count] = {s.floor, s.ceiling, s.hard, {}, 0};
  ++f.count;
  return true;
}

bool have_costs(const field& f, wall_ms wall) {
  return std::all_of(f.candidates.begin(), f.candidates.begin() + f.count, [&](const auto& c) {
    const auto& cost = c.implementation->cost;
    return cost && !cost->provenance.empty() && (!cost->fresh_until || wall <= *cost->fresh_until);
  });
}

/// The cheapest of those that meet the objective, as far as anything is known; then the fastest.
rank rank_by_cost(const candidate& c, const model_route& r) {
  const auto& p = c.seen.predicted;
  auto objective = r.objective ? std::chrono::duration<double>(*r.objective).count() : 0;
  if (r.objective && p.known && p.seconds > objective)
    return {3, p.seconds, 0};
  return {0, static_cast<double>(c.implementation->cost->nano_per_unit), 0};
}

} // namespace

question question_of(const routing_snapshot& s, const query& q, const model& m) {
  return {
    .snapshot = s,
    .model = m,
    .caller = q.caller,
    .shape = q.shape,
    .tried = q.tried,
    .fingerprint = q.pin && q.pin->fingerprint ? &*q.pin->fingerprint : nullptr,
    .now = q.now,
    .wall = q.wall,
  };
}

bool may_use_model(const routing_snapshot& s, const caller& c, const model& m) {
  if (c.key >= s.keys().size())
    return true; // Not by a key: a hypothetical request, or an internal one.
  const auto& models = s.keys()[c.key].models;
  return models.empty() || std::find(models.begin(), models.end(), m.name) != models.end();
}

survey look_over(const question& q, const implementation& i, std::uint64_t chance) {
  survey seen{};
  auto briefs = q.snapshot.briefs_of(i);
  const auto* endpoints = q.snapshot.endpoints_of(i).data();
  auto terms = pool::reserve_terms{.traffic = q.caller.traffic, .now = q.now};
  auto warm_up = is_warm_up(chance);
  auto is_plain = q.tried.empty() && !q.fingerprint; // Then what serves on a good stack will do.
  work w{
    .input_tokens = middle(q.shape.all_input()),
    .output_tokens = q.shape.output_tokens.value_or(0)};
  auto best = rank{};
  auto first = briefs.size() < 2 ? 0 : (chance >> 32) % briefs.size();
  for (std::size_t n = 0; n < briefs.size(); ++n) {
    auto at = first + n < briefs.size() ? first + n : first + n - briefs.size();
    const auto& b = briefs[at];
    if (b.serves && b.counters->is_left_out(terms.traffic)) {
      seen.avoided = true;
      continue;
    }
    if (!(is_plain && b.serves && b.qualified) && !may_use(q, i, endpoints[at]))
      continue;
    ++seen.usable;
    auto load = b.counters->look(terms);
    auto room = b.saturated ? 0 : load.room;
    if (seen.best && room == 0 && seen.room > 0)
      continue;
    w.in_flight = load.in_flight;
    auto p = predict(b.pace, w, q.now);
    auto standing = b.counters->standing();
    auto mine = rank_of(p, load.in_flight, b.slots, warm_up, standing);
    if (seen.best && (room > 0) == (seen.room > 0) && !(mine < best))
      continue;
    best = mine;
    seen.best = &endpoints[at];
    seen.room = room;
    seen.in_flight = load.in_flight;
    seen.predicted = p;
    seen.standing = standing;
    seen.explored = warm_up && mine.tier == 0;
  }
  return seen;
}

std::optional<double> expected_wait(const question& q, const implementation& i) {
  double per_second = 0;
  for (const auto& e : q.snapshot.endpoints_of(i)) {
    if (!may_use(q, i, e))
      continue;
    const auto& pace = q.snapshot.brief_of(e).pace;
    if (pace.completions_per_second <= 0 || q.now > pace.stale_after)
      return {};
    per_second += pace.completions_per_second;
  }
  if (per_second <= 0)
    return {};
  std::uint64_t ahead = 0;
  for (std::size_t c = 0; c < i.waiting.size(); ++c)
    if (pool::rank(static_cast<contract::traffic_class>(c)) <= pool::rank(q.caller.traffic))
      ahead += i.waiting[c];
  return static_cast<double>(ahead + 1) / per_second;
}

void gather(const question& q, const query& asked, const model_route* r, field& f, decision& d) {
  auto all = q.snapshot.implementations();
  if (r)
    for (const auto& s : r->shares)
      if (s.ceiling > 0 && f.count < f.candidates.size())
        consider(q, asked, all[s.implementation], s, f, d);
  if (f.count > 0 || (r && !f.lacks_evidence))
    return;
  // Unproven shapes and models go to the compatibility pool; that is normal, and counted.
  for (auto index : q.model.implementations) {
    const auto& i = all[index];
    auto is_in_route = r && std::any_of(r->shares.begin(), r->shares.end(), [&](const auto& s) {
                         return s.implementation == index && s.ceiling > 0;
                       });
    if (i.compatibility && !is_in_route && consider(q, asked, i, {}, f, d))
      d.trace.flags.add(trace_flag::compatibility);
  }
}

void weigh(const question& q, const query& asked, const model_route* r, field& f, decision& d) {
  auto policy = r ? r->policy : route_policy::latency;
  if (policy == route_policy::cost && !have_costs(f, q.wall)) {
    d.trace.flags.add(trace_flag::cost_acts_as_latency);
    policy = route_policy::latency;
  }
  auto warm_up = is_warm_up(asked.chance);
  auto turn = static_cast<std::uint32_t>(asked.chance >> 40 & 0xffff);
  for (std::size_t n = 0; n < f.count; ++n) {
    const auto& c = f.candidates[n];
    auto slots = c.seen.best->slots;
    auto& rank = f.portions[n].rank;
    rank = policy == route_policy::cost
             ? rank_by_cost(c, *r)
             : rank_of(c.seen.predicted, c.seen.in_flight, slots, warm_up, c.seen.standing);
    rank.tier += c.seen.room > 0 ? 0 : 8; // Whoever has room comes before whoever has none.
    rank.tie = (static_cast<std::uint32_t>(n) + turn) % static_cast<std::uint32_t>(f.count);
  }
  f.unserved = divide(f.all(), policy != route_policy::fixed);
  if (d.trace.refused > 0)
    d.trace.flags.add(trace_flag::share_spread);
}

} // namespace assay::routing
