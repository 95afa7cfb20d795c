// Who may send how much where.
//
// Lowering a lease is a wish until the ingress has answered: until then, or until the lease runs
// out, what it may still believe it holds (`held`) is not given to anybody else.

#include "src/base/check.hpp"
#include "src/base/limits.hpp"
#include "src/pool/coordinator.hpp"
#include "src/pool/credits.hpp"

#include <algorithm>

namespace assay::pool {

std::uint32_t coordinator::held(const replica_state& r) const {
  std::uint32_t sum = 0;
  for (const auto& [ingress, l] : r.leases)
    sum += l.held;
  return sum;
}

/// What a replica from before offers may still be out on leases that nobody has reported.
bool coordinator::may_be_held_unseen(const replica_state& r) const {
  return r.from_before && !unheard_.empty() && now_ < started_ + limits::lease_life;
}

bool coordinator::may_grant(const replica_state& r) const {
  return takes_traffic(r) && !may_be_held_unseen(r);
}

contention coordinator::contention_on(const replica_state& r) const {
  auto worst = contention::none;
  for (const auto& t : queue_.all()) {
    if (!may_serve(r, t))
      continue;
    auto is_background = rank(t.traffic) >= rank(contract::traffic_class::batch);
    worst =
      std::max(worst, is_background ? contention::batch_waits : contention::interactive_waits);
  }
  return worst;
}

void coordinator::begin_traffic(replica_state& r) {
  adopt_holdings(r);
  set_targets(r);
}

/// The replica begins to take traffic: what ingresses said they hold of it counts at once.
void coordinator::adopt_holdings(replica_state& r) {
  for (const auto& [id, i] : ingresses_)
    for (const auto& h : i.last.holdings)
      if (h.endpoint == r.key())
        take_holding(r, id, h);
}

void coordinator::take_holding(
  replica_state& r, const ingress_id& who, const ingress_reported::holding& h
) {
  auto known = r.leases.find(who);
  if (known == r.leases.end()) {
    // What leaves is waited for, also where it is in flight since before our time.
    auto counts = takes_traffic(r) || (r.leaving && r.from_before);
    if (!counts || (h.credits == 0 && h.in_flight == 0))
      return;
    known = r.leases.try_emplace(who).first;
    known->second.finished = h.finished; // From before our time.
  }
  auto& l = known->second;
  // More than is free is not a lease but a leftover of an expired one: it is cut at once.
  auto free = r.slots > held(r) ? r.slots - held(r) : 0;
  if (h.grant >= l.number && l.number > 0) {
    l.held = std::max(l.credits, std::min(h.in_flight, l.held));
  } else if (l.number == 0) {
    l.held = std::min(std::max(h.credits, h.in_flight), free);
    l.credits = std::min(h.credits, free);
    l.target = r.leaving ? 0 : l.credits;
  }
  if (h.finished > l.finished) {
    rate_.count(h.finished - l.finished);
    r.busy_at = now_;
  }
  if (h.in_flight > 0)
    r.busy_at = now_;
  l.finished = h.finished;
  l.in_flight = h.in_flight;
  if (l.number == 0)
    send_grant(r, who, l);
}

void coordinator::lapse_leases() {
  for (auto& [generation, r] : replicas_) {
    for (auto& [ingress, l] : r.leases)
      std::erase_if(l.admitted, [&](const auto& t) {
        return t.second.at + limits::ticket_unsettled <= now_;
      });
    std::erase_if(r.leases, [&](const auto& entry) { return entry.second.until <= now_; });
  }
}

/// Everybody's use, and an even share of the rest.
void coordinator::set_targets(replica_state& r) {
  if (!takes_traffic(r))
    return;
  std::vector<ingress_id> who;
  std::vector<std::uint32_t> in_use;
  for (const auto& [id, i] : ingresses_) {
    if (!i.connected)
      continue;
    auto l = r.leases.find(id);
    who.push_back(id);
    in_use.push_back(l == r.leases.end() ? 0 : l->second.busy());
  }
  auto split = split_credits(r.slots, in_use, who.empty() ? 0 : r.generation % who.size());
  for (auto& [id, l] : r.leases)
    l.target = 0; // Of the lost ones; the others follow.
  for (std::size_t i = 0; i < who.size(); ++i)
    r.leases[who[i]].target = split[i];
  for (auto& [id, l] : r.leases)
    if (l.until == steady_time{})
      l.until = now_ + limits::lease_life; // New, nothing sent yet.
}

void coordinator::settle(replica_state& r) {
  auto waiting = contention_on(r);
  auto granting = may_grant(r);
  for (auto& [id, l] : r.leases) {
    auto i = ingresses_.find(id);
    if (i == ingresses_.end() || !i->second.connected)
      continue; // Its lease runs out by itself.
    auto out = held(r);
    auto free = r.slots > out ? r.slots - out : 0;
    auto wish = granting ? std::min(l.target, l.held + free) : std::min(l.target, l.held);
    auto due = now_ >= l.sent + limits::lease_renew || l.number == 0;
    if (wish == l.credits && waiting == l.waiting && !(due && (l.held > 0 || l.target > 0)))
      continue;
    l.credits = wish;
    l.held = std::max(l.held, wish);
    l.waiting = waiting;
    send_grant(r, id, l);
  }
}

void coordinator::settle_all() {
  for (auto& [generation, r] : replicas_) {
    auto due = std::any_of(r.leases.begin(), r.leases.end(), [&](const auto& entry) {
      return now_ >= entry.second.sent + limits::lease_renew;
    });
    if (due)
      set_targets(r);
    settle(r);
  }
}

void coordinator::send_grant(replica_state& r, const ingress_id& who, lease_state& l) {
  l.number = ++grants_;
  l.sent = now_;
  l.until = now_ + limits::lease_life;
  auto w = wanted_.find(r.implementation);
  auto degraded = w == wanted_.end() ? contract::degraded_rule::stop : w->second.wanted.degraded;
  expect(grant_lease{who, r.key(), {l.credits, l.until, degraded, l.waiting}, l.number});
}

} // namespace assay::pool
