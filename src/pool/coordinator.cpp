#include "src/pool/coordinator.hpp"

#include "src/base/check.hpp"
#include "src/base/limits.hpp"

#include <algorithm>

namespace assay::pool {

namespace {

/// Bits 40 and up of a generation are the epoch it was made in (`next_generation`).
std::uint64_t epoch_of(std::uint64_t generation) {
  return generation >> 40;
}

std::chrono::seconds backoff(std::uint32_t failures) {
  auto doublings = std::min(failures == 0 ? 0 : failures - 1, 10U);
  return std::min<std::chrono::seconds>(
    limits::crash_pause_first * (1U << doublings), limits::crash_pause_most
  );
}

} // namespace

coordinator::coordinator(coordinator_settings settings, steady_time now)
  : settings_{std::move(settings)}, started_{now}, now_{now},
    unheard_{settings_.may_hold.begin(), settings_.may_hold.end()}, queue_{limits::queue_waiting} {}

std::vector<effect> coordinator::step(const event& what, steady_time now) {
  now_ = std::max(now_, now);
  std::visit([this](const auto& e) { on(e); }, what);
  lapse_leases();
  reconcile();
  settle_all();
  admit();
  auto effects = std::exchange(effects_, {});
  // First, so that who is granted or promised an endpoint has seen it.
  if (std::exchange(changed_, false))
    effects.insert(effects.begin(), view_changed{});
  return effects;
}

void coordinator::on(const wanted_changed& e) {
  std::map<implementation_id, wanted_state> next;
  for (const auto& w : e.implementations) {
    auto& state = next[w.launch.implementation];
    auto known = wanted_.find(w.launch.implementation);
    changed_ = changed_ || known == wanted_.end() || known->second.wanted != w;
    auto launch = launch_digest(w.launch);
    if (known != wanted_.end() && known->second.launch == launch)
      state = known->second; // The same launch keeps its count of crashes.
    state.wanted = w;
    state.launch = launch;
    state.desired =
      std::clamp(state.desired, w.replicas_min, std::max(w.replicas_min, w.replicas_max));
  }
  // Every change of the ledger's tables comes by here, and most leave the pool as it is.
  changed_ = changed_ || next.size() != wanted_.size();
  wanted_ = std::move(next);
  elsewhere_ = e.elsewhere;
  if (kept_ != e.kept)
    keep(e.kept);
}

void coordinator::keep(const std::map<host_id, kept_host>& hosts) {
  std::set<std::uint64_t> before;
  for (const auto& [generation, r] : replicas_)
    if (takes_traffic(r))
      before.insert(generation);
  kept_ = hosts;
  changed_ = true;
  for (auto& [generation, r] : replicas_)
    if (takes_traffic(r) && !before.contains(generation))
      begin_traffic(r);
}

bool coordinator::is_current(const host_id& host, std::uint64_t session) const {
  auto h = hosts_.find(host);
  return h != hosts_.end() && h->second.connected && h->second.last.session == session;
}

void coordinator::on(const host_reported& e) {
  auto [h, is_new] = hosts_.try_emplace(e.host);
  if (!is_new && e.session < h->second.last.session)
    return;
  auto came_back = !is_new && (e.session != h->second.last.session || !h->second.connected);
  if (came_back) // What still runs there is reported again.
    std::erase_if(neighbours_, [&](const auto& one) { return one.second.host == e.host; });
  if (came_back)
    for (auto& [generation, r] : replicas_)
      if (r.host == e.host)
        r.confirm_by = now_ + limits::replica_confirm;
  changed_ = changed_ || is_new || came_back || h->second.last != e;
  auto settled_at = is_new || came_back ? now_ + limits::host_settles : h->second.settled_at;
  h->second = {.last = e, .connected = true, .settled_at = settled_at};
  for (auto& [generation, r] : replicas_)
    if (r.host == e.host && came_back && (r.phase == phase::absent || r.stop_sent))
      r.asked = {}; // `chase` asks again, under the new session.
}

void coordinator::on(const host_lost& e) {
  auto h = hosts_.find(e.host);
  if (h == hosts_.end() || h->second.last.session != e.session)
    return;
  if (std::exchange(h->second.connected, false)) {
    h->second.lost_at = now_;
    changed_ = true;
  }
  if (e.how == host_loss::left)
    fence(e.host);
}

/// What was started by a host that is out of sight is not ours to use until it is reported again.
void coordinator::fence(const host_id& host) {
  for (auto& [generation, r] : replicas_)
    if (r.host == host && !std::exchange(r.fenced, true))
      changed_ = true;
}

void coordinator::on(const replica_reported& e) {
  if (!is_current(e.host, e.session))
    return;
  auto known = replicas_.find(e.generation);
  if (known == replicas_.end() && elsewhere_.contains(e.implementation))
    return note_neighbour(e);
  neighbours_.erase(e.generation);
  if (known == replicas_.end())
    return meet(e);
  if (known->second.host == e.host)
    hear(known->second, e);
}

void coordinator::note_neighbour(const replica_reported& e) {
  if (e.phase == phase::gone)
    neighbours_.erase(e.generation);
  else
    neighbours_[e.generation] = {e.host, e.devices};
}

/// A replica that this coordinator did not start: from an earlier epoch, or adopted.
void coordinator::meet(const replica_reported& e) {
  if (e.phase == phase::gone)
    return;
  auto stop = [&](const std::string& why) {
    expect(stop_replica{e.host, e.session, settings_.epoch, e.replica, e.generation, why});
  };
  auto w = wanted_.find(e.implementation);
  if (w == wanted_.end())
    return stop("implementation " + e.implementation.value + " is not wanted in this pool");
  // A later leader's: ours is the older epoch, so it is not ours to stop.
  if (!w->second.wanted.adopted && epoch_of(e.generation) > settings_.epoch)
    return;
  for (const auto& [generation, other] : replicas_)
    for (const auto& device : e.devices)
      if (other.host == e.host && std::count(other.devices.begin(), other.devices.end(), device))
        return stop("device " + device + " belongs to " + other.id.value);
  auto& r = replicas_[e.generation];
  r.id = e.replica;
  r.implementation = e.implementation;
  r.host = e.host;
  r.generation = e.generation;
  r.devices = e.devices;
  r.launch = w->second.wanted.launch;
  r.launched = e.launch.value_or(w->second.launch);
  r.from_before = true;
  r.busy_at = now_;
  hear(r, e);
}

void coordinator::hear(replica_state& r, const replica_reported& e) {
  if (e.phase == phase::gone) {
    if (e.was_ordered)
      note_ordered_end(r, e.reason);
    else
      count_crash(r, e.reason);
    return bury(r);
  }
  auto was_traffic = takes_traffic(r);
  changed_ = changed_ || r.phase != e.phase || r.address != e.address || r.reason != e.reason
             || r.loopback != e.loopback || r.fingerprint != e.fingerprint || r.confirm_by
             || r.fenced;
  r.confirm_by = {};
  r.fenced = false;
  r.session = e.session;
  r.phase = e.phase;
  r.secret = e.secret;
  r.loopback = e.loopback;
  r.fingerprint = e.fingerprint;
  r.reason = e.reason;
  if (r.address.empty()) // An endpoint never moves: a new address would be a new generation.
    r.address = e.address;
  if (r.slots == 0 && serves(e.phase))
    r.slots = e.slots ? e.slots : r.launch.slots;
  if (!serves(e.phase))
    r.ready_since = {};
  else if (!r.ready_since)
    r.ready_since = now_;
  if (!was_traffic && takes_traffic(r))
    begin_traffic(r);
}

/// Any end that was not asked for is a failure, whatever the exit code.
void coordinator::count_crash(const replica_state& r, const std::string& reason) {
  auto w = wanted_.find(r.implementation);
  if (r.leaving || w == wanted_.end())
    return;
  auto& state = w->second;
  ++state.failures;
  state.last_failure = reason;
  state.retry_at = now_ + backoff(state.failures);
  // Looking whether an adopted server is back costs nothing.
  if (!state.wanted.adopted && state.failures >= static_cast<std::uint32_t>(limits::crash_restarts))
    state.given_up = "ended " + std::to_string(state.failures)
                     + " times in a row without being asked to; last: "
                     + (reason.empty() ? "no reason reported" : reason);
}

/// A person at the host, not this pool, had it ended: no failure, and not to be defied at once, nor
/// again and again. It is never given up, because the host takes it back some day.
void coordinator::note_ordered_end(const replica_state& r, const std::string& reason) {
  auto w = wanted_.find(r.implementation);
  if (r.leaving || w == wanted_.end())
    return;
  w->second.last_failure = reason;
  w->second.retry_at = now_ + backoff(++w->second.ordered_ends);
}

void coordinator::bury(replica_state& r) {
  replicas_.erase(r.generation);
  changed_ = true;
}

void coordinator::on(const ingress_reported& e) {
  auto [i, is_new] = ingresses_.try_emplace(e.ingress);
  auto joined = is_new || !i->second.connected;
  i->second = {.connected = true, .last = e};
  unheard_.erase(e.ingress);
  for (auto& [generation, r] : replicas_) {
    auto held = std::find_if(e.holdings.begin(), e.holdings.end(), [&](const auto& h) {
      return h.endpoint.generation == r.generation && h.endpoint.address == r.address;
    });
    take_holding(r, e.ingress, held == e.holdings.end() ? ingress_reported::holding{} : *held);
    if (auto l = r.leases.find(e.ingress); l != r.leases.end())
      for (auto ticket : e.settled)
        l->second.admitted.erase(ticket);
    if (joined)
      set_targets(r);
  }
}

void coordinator::on(const ingress_lost& e) {
  auto i = ingresses_.find(e.ingress);
  if (i == ingresses_.end())
    return;
  i->second.connected = false;
  queue_.take_of(e.ingress); // Nobody is left to answer them.
  for (auto& [generation, r] : replicas_)
    set_targets(r);
}

void coordinator::on(const retry_asked& e) {
  auto w = wanted_.find(e.implementation);
  if (w == wanted_.end())
    return;
  w->second.failures = w->second.ordered_ends = 0;
  w->second.given_up.clear();
  w->second.retry_at = now_;
  changed_ = true;
}

void coordinator::on(const ticked&) {
  rate_.roll(now_);
}

void service_rate::roll(steady_time now) {
  if (!since_)
    since_ = now;
  auto passed = std::chrono::duration<double>(now - *since_).count();
  if (passed < 1.0)
    return;
  auto seen = static_cast<double>(std::exchange(pending_, 0)) / passed;
  since_ = now;
  if (!rate_ && seen == 0)
    return; // Nothing was ever served: the rate is unknown, not zero.
  auto weight = std::min(1.0, passed / 10.0);
  rate_ = rate_ ? *rate_ + (seen - *rate_) * weight : seen;
}

void coordinator::check_invariants() const {
  std::set<std::pair<host_id, std::string>> taken;
  for (const auto& [generation, r] : replicas_) {
    check(generation == r.generation, "a replica is filed under its generation");
    for (const auto& device : r.devices)
      check(taken.emplace(r.host, device).second, "a device belongs to one replica");
    std::uint64_t out = 0;
    for (const auto& [ingress, l] : r.leases) {
      check(l.held >= l.credits, "an ingress may believe it holds what it was granted");
      out += l.held;
    }
    check(out <= r.slots, "credits out never exceed the endpoint's slots");
    if (takes_traffic(r))
      check(
        is_in_service(hosts_.at(r.host)) && !r.address.empty(),
        "traffic goes to what can be reached"
      );
  }
  check(queue_.size() <= queue_.capacity(), "the queue is bounded");
  for (const auto& t : queue_.all()) {
    check(t.deadline > now_, "nobody waits past the deadline");
    check(t.deadline <= t.since + limits::queue_wait, "everybody in the queue has a deadline");
  }
}

} // namespace assay::pool
