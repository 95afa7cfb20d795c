// Who waits for a credit, and who goes next.

#include "src/base/limits.hpp"
#include "src/pool/coordinator.hpp"

#include <algorithm>
#include <cmath>

namespace assay::pool {

void coordinator::on(const ticket_asked& e) {
  waiting_ticket t{.key = {e.ingress, e.ticket}, .traffic = e.traffic, .project = e.project};
  t.excluded = e.excluded;
  for (const auto& id : e.acceptable)
    if (wanted_.contains(id))
      t.acceptable.push_back(id);
  t.since = now_;
  // Admitted before, and the claim failed: it keeps its place, but is not sent back at once, since
  // what the coordinator knows of that endpoint is behind.
  for (auto& [generation, r] : replicas_)
    if (auto l = r.leases.find(e.ingress); l != r.leases.end())
      if (auto was = l->second.admitted.extract(e.ticket)) {
        t.since = was.mapped().since;
        t.not_before = now_ + limits::pool_tick;
      }
  t.deadline = std::min(e.deadline, t.since + limits::queue_wait);
  if (t.deadline <= now_)
    return refuse(t, ticket_refusal::waited_too_long);
  if (auto refused = queue_.push(std::move(t)))
    refuse(*refused, ticket_refusal::queue_full);
}

void coordinator::on(const ticket_withdrawn& e) {
  queue_.take({e.ingress, e.ticket});
  for (auto& [generation, r] : replicas_)
    if (auto l = r.leases.find(e.ingress); l != r.leases.end())
      l->second.admitted.erase(e.ticket);
}

bool coordinator::may_serve(const replica_state& r, const waiting_ticket& t) const {
  return takes_traffic(r) && std::count(t.acceptable.begin(), t.acceptable.end(), r.implementation)
         && !std::count(t.excluded.begin(), t.excluded.end(), r.key());
}

/// Something that may serve it runs, or is on its way, or may not have been reported yet: the
/// agents of a coordinator that follows another one are still looking for it.
bool coordinator::has_hope(const waiting_ticket& t) const {
  auto follows = !settings_.may_hold.empty() && now_ < started_ + limits::unwatched;
  if (follows && !t.acceptable.empty())
    return true;
  auto running = std::any_of(replicas_.begin(), replicas_.end(), [&](const auto& entry) {
    const auto& r = entry.second;
    return is_live(r) && std::count(t.acceptable.begin(), t.acceptable.end(), r.implementation)
           && (!serves(r.phase) || may_serve(r, t));
  });
  return running || std::any_of(t.acceptable.begin(), t.acceptable.end(), [&](const auto& id) {
           auto w = wanted_.find(id);
           return w != wanted_.end() && w->second.pauses;
         });
}

void coordinator::refuse(const waiting_ticket& t, ticket_refusal why) {
  refuse_ticket answer{.ingress = t.key.ingress, .ticket = t.key.ticket, .why = why};
  answer.retry_after = limits::retry_after_default;
  if (auto rate = rate_.per_second(); rate && *rate > 0 && why != ticket_refusal::no_replica) {
    auto ahead = static_cast<double>(queue_.ahead_of(t.traffic) + 1);
    auto most = static_cast<double>(limits::retry_after_max.count());
    auto seconds = std::clamp(std::ceil(ahead / *rate), 1.0, most);
    answer.retry_after = std::chrono::seconds{static_cast<long>(seconds)};
    answer.measured = true;
  }
  expect(std::move(answer));
}

void coordinator::admit() {
  for (const auto& t : queue_.take_expired(now_))
    refuse(t, ticket_refusal::waited_too_long);
  std::vector<waiting_ticket> hopeless;
  for (const auto& t : queue_.all())
    if (!has_hope(t))
      hopeless.push_back(t);
  for (const auto& t : hopeless) {
    queue_.take(t.key);
    refuse(t, ticket_refusal::no_replica);
  }
  // Each admission changes the order (fair share), so it is asked anew.
  for (auto admitted = true; admitted && !queue_.empty();) {
    admitted = false;
    for (const auto* t : queue_.in_order()) {
      if (!try_admit(*t))
        continue;
      queue_.serve(t->key);
      admitted = true;
      break;
    }
  }
  for (const auto& t : queue_.all())
    ask_for_credit(t);
  // Who waits has changed: ingresses are told before anybody overtakes.
  for (auto& [generation, r] : replicas_)
    settle(r);
}

/// On a credit that its ingress holds and does not use, or on one that nobody holds.
bool coordinator::try_admit(const waiting_ticket& t) {
  if (now_ < t.not_before)
    return false;
  replica_state* best = nullptr;
  std::uint32_t best_free = 0;
  for (auto& [generation, r] : replicas_) {
    if (!may_serve(r, t) || r.phase == phase::saturated)
      continue;
    auto busy = std::uint32_t{0};
    for (const auto& [id, l] : r.leases)
      busy += l.busy();
    auto is_background = rank(t.traffic) >= rank(contract::traffic_class::batch);
    if (is_background && busy + interactive_headroom(r.slots) >= r.slots)
      continue;
    auto l = r.leases.find(t.key.ingress);
    auto idle = l == r.leases.end() ? 0 : l->second.idle();
    auto out = held(r);
    auto spare = may_grant(r) && r.slots > out ? r.slots - out : 0;
    if (idle + spare > best_free) {
      best = &r;
      best_free = idle + spare;
    }
  }
  if (!best)
    return false;
  auto& l = best->leases[t.key.ingress];
  if (l.idle() == 0) {
    ++l.credits;
    l.target = std::max(l.target, l.credits);
    l.held = std::max(l.held, l.credits);
    send_grant(*best, t.key.ingress, l);
  }
  l.admitted[t.key.ticket] = {.at = now_, .since = t.since};
  best->busy_at = now_;
  expect(admit_ticket{t.key.ingress, t.key.ticket, best->implementation, best->key()});
  return true;
}

/// Takes back an idle credit of another ingress; it is granted on once that ingress has answered.
void coordinator::ask_for_credit(const waiting_ticket& t) {
  for (auto& [generation, r] : replicas_) {
    if (!may_serve(r, t) || r.phase == phase::saturated)
      continue;
    auto& mine = r.leases[t.key.ingress];
    if (mine.until == steady_time{})
      mine.until = now_ + limits::lease_life;
    if (mine.target > mine.credits)
      continue; // One is on its way already.
    auto giver = std::max_element(r.leases.begin(), r.leases.end(), [](auto& a, auto& b) {
      return a.second.idle() < b.second.idle();
    });
    if (giver == r.leases.end() || giver->first == t.key.ingress || giver->second.idle() == 0)
      continue;
    giver->second.target = giver->second.credits - 1;
    mine.target = mine.credits + 1;
    return;
  }
}

} // namespace assay::pool
