#include "src/routing/health.hpp"

#include "src/routing/health_limits.hpp"

#include <algorithm>

namespace assay::routing {

using pool::standing;

std::vector<patient> patients_in(const routing_snapshot& s, const std::set<host_id>& silent) {
  std::vector<patient> all;
  for (const auto& e : s.endpoints()) {
    if (!s.brief_of(e).serves)
      continue;
    patient p{
      .key = e.counters->key(),
      .group = s.implementations()[e.implementation].model,
      .signs = e.counters->signs().look(),
      .in_flight = e.counters->in_flight(),
      .tokens = e.counters->ruled().tokens,
      .is_heard_of = !silent.contains(e.host),
    };
    std::chrono::duration<double> gap{e.learned.gap_seconds.value};
    if (e.learned.gap_seconds.seen > 0)
      p.gap = std::chrono::duration_cast<std::chrono::microseconds>(gap);
    all.push_back(std::move(p));
  }
  return all;
}

std::chrono::microseconds patience_with(const patient& p) {
  auto least = std::chrono::microseconds{limits::silence_least};
  auto most = std::chrono::microseconds{limits::silence_most};
  if (p.signs.streaming > 0 && !p.gap)
    return most;
  auto gap = p.signs.streaming > 0 ? *p.gap : std::chrono::microseconds{};
  auto explained =
    limits::silence_slack * std::min(p.signs.owed, most) + limits::silence_gaps * gap;
  return std::clamp(explained, least, most);
}

void health_table::warm(state& s, steady_time now) {
  s.warm_since = now;
  s.served = 0;
}

void health_table::open(state& s, steady_time now) {
  auto wait = std::chrono::seconds{limits::breaker_first} * (1U << std::min(s.openings, 8U));
  s.open_until = now + std::min<std::chrono::seconds>(wait, limits::breaker_most);
  s.probed_at.reset();
  ++s.openings;
}

bool health_table::learn(
  const pool::endpoint_key& where, ending how, std::chrono::seconds retry_after, steady_time now
) {
  auto [at, is_new] = states_.try_emplace(where);
  auto& s = at->second;
  if (is_new)
    warm(s, now);
  switch (how) {
  case ending::served:
    s.trouble *= limits::trouble_kept;
    ++s.served;
    if (!s.probed_at)
      return s.served == limits::warm_after;
    s = {.warm_since = now}; // The probe came back: it starts anew.
    return true;
  case ending::failed:
    s.trouble = s.trouble * limits::trouble_kept + 1;
    if (s.open_until && !s.probed_at)
      return false;
    if (!s.probed_at && s.trouble < limits::trouble_most)
      return false;
    open(s, now);
    return true;
  case ending::overloaded: {
    auto wait = retry_after > std::chrono::seconds{} ? retry_after : limits::full_first;
    s.full_until = now + std::min<std::chrono::seconds>(wait, limits::full_most);
    return true;
  }
  case ending::refused:
  case ending::rejected:
  case ending::client_gone:
    break; // Neither good nor bad of it: a half-open breaker stays as it is.
  }
  return false;
}

/// As if it were alone: how many others are out is not its concern.
pool::admission health_table::look_at(state& s, const patient& p, steady_time now) {
  pool::admission seen;
  if (s.silent_since && p.signs.moved > *s.silent_since)
    s.silent_since.reset();
  if (s.silent_since && !p.signs.is_busy()) {
    // Nobody is left who could see it move: one request finds out. If that was one already, it did.
    s.silent_since.reset();
    if (s.probed_at)
      open(s, now);
    else if (!s.open_until)
      s.open_until = now;
  }
  if (!s.silent_since && p.signs.is_busy() && now - p.signs.moved > patience_with(p))
    s.silent_since = p.signs.moved;
  if (s.open_until && now < *s.open_until)
    return {standing::failing, 0, *s.open_until};
  if (s.silent_since)
    return {p.signs.streaming > 0 ? standing::stalled : standing::wedged, 0, {}};
  if (s.open_until) {
    // A probe that ended without a verdict, or does not end, is followed by another.
    auto is_over = [&] {
      return p.tokens == 0 && (p.in_flight == 0 || now >= *s.probed_at + limits::breaker_first);
    };
    if (!s.probed_at || is_over()) {
      s.probed_at = now;
      return {standing::probing, 1, {}};
    }
    return {standing::probing, std::min(p.tokens, 1U), {}};
  }
  if (s.full_until && now < *s.full_until)
    return {standing::full, 0, *s.full_until};
  if (s.served < limits::warm_after && now < s.warm_since + limits::warm_most)
    seen.standing = standing::warming;
  else if (!p.is_heard_of)
    seen.standing = standing::stale;
  return seen;
}

std::vector<ruling> health_table::rule(std::span<const patient> all, steady_time now) {
  std::vector<ruling> rulings;
  std::map<std::uint32_t, std::uint32_t> sizes;
  std::set<std::pair<steady_time, std::size_t>> out; // Who was out first stays out.
  for (const auto& p : all) {
    auto [at, is_new] = states_.try_emplace(p.key);
    auto& s = at->second;
    if (is_new)
      warm(s, now);
    ++sizes[p.group];
    rulings.push_back({p.key, look_at(s, p, now)});
    if (rulings.back().what.tokens == pool::no_limit)
      s.out_since.reset();
    else
      out.emplace(s.out_since.emplace(s.out_since.value_or(now)), rulings.size() - 1);
  }
  std::map<std::uint32_t, std::uint32_t> left_out;
  for (const auto& [since, index] : out) {
    auto group = all[index].group;
    if (++left_out[group] <= sizes[group] / limits::out_share)
      continue;
    auto& what = rulings[index].what;
    what.tokens = pool::no_limit;
    what.is_spared = true;
  }
  forget_others(all);
  return rulings;
}

void health_table::forget_others(std::span<const patient> all) {
  if (states_.size() <= all.size())
    return;
  std::set<pool::endpoint_key> here;
  for (const auto& p : all)
    here.insert(p.key);
  std::erase_if(states_, [&](const auto& entry) { return !here.contains(entry.first); });
}

} // namespace assay::routing
