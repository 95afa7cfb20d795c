// From what is wanted to what runs: placement, replacement, draining.

#include "src/base/limits.hpp"
#include "src/pool/coordinator.hpp"

#include <algorithm>

namespace assay::pool {

/// What it runs is known, so that nothing is started twice.
bool coordinator::has_settled(const host_state& h) const {
  if (!h.last.running)
    return now_ >= h.settled_at;
  return std::all_of(h.last.running->begin(), h.last.running->end(), [&](auto generation) {
    auto r = replicas_.find(generation);
    auto is_met = r != replicas_.end() && !r->second.fenced;
    return is_met || now_ >= h.settled_at + limits::replica_confirm;
  });
}

bool coordinator::is_in_service(const host_state& h) const {
  return h.connected || now_ < h.lost_at + limits::unwatched;
}

bool coordinator::is_quarantined(const host_id& host) const {
  auto kept = kept_.find(host);
  return kept != kept_.end() && kept->second.quarantined;
}

bool coordinator::is_live(const replica_state& r) const {
  auto h = hosts_.find(r.host);
  return !r.leaving && !r.fenced && h != hosts_.end() && is_in_service(h->second)
         && !is_quarantined(r.host) && r.phase < phase::draining;
}

bool coordinator::takes_traffic(const replica_state& r) const {
  return is_live(r) && serves(r.phase) && !r.address.empty() && r.slots > 0;
}

std::vector<replica_state*> coordinator::live_of(const implementation_id& id) {
  std::vector<replica_state*> live;
  for (auto& [generation, r] : replicas_)
    if (r.implementation == id && is_live(r))
      live.push_back(&r);
  return live;
}

void coordinator::reconcile() {
  for (const auto& [id, h] : hosts_)
    if (!is_in_service(h))
      fence(id);
  // What came back with its agent but was not reported again is not there any more.
  std::vector<std::uint64_t> unconfirmed;
  for (auto& [generation, r] : replicas_)
    if (r.confirm_by && *r.confirm_by <= now_ && r.phase != phase::absent)
      unconfirmed.push_back(generation);
  for (auto generation : unconfirmed)
    bury(replicas_.at(generation));
  for (auto& [generation, r] : replicas_) {
    if (auto why = why_leaves(r))
      leave(r, *why);
  }
  for (auto& [id, w] : wanted_)
    reconcile(w);
  for (auto& [generation, r] : replicas_)
    chase(r);
}

/// What it stands on was taken away.
std::optional<std::string> coordinator::why_leaves(const replica_state& r) const {
  if (!wanted_.contains(r.implementation))
    return "implementation " + r.implementation.value + " is not wanted in this pool";
  auto kept = kept_.find(r.host);
  if (kept != kept_.end() && !kept->second.quarantined)
    return kept->second.why;
  auto h = hosts_.find(r.host);
  if (h == hosts_.end())
    return {};
  for (const auto& device : r.devices)
    if (auto sick = h->second.last.sick.find(device); sick != h->second.last.sick.end())
      return "its device " + device + " is out of service: " + sick->second;
  return {};
}

void coordinator::reconcile(wanted_state& w) {
  auto live = live_of(w.wanted.launch.implementation);
  for (auto* r : live)
    if (r->ready_since && *r->ready_since + limits::crash_forgotten <= now_)
      w.failures = w.ordered_ends = 0;
  rescale(w, live);
  auto old = std::stable_partition(live.begin(), live.end(), [&](auto* r) {
    return r->launched == w.launch;
  });
  std::vector<replica_state*> outdated(old, live.end());
  live.erase(old, live.end());
  auto fresh_ready =
    std::count_if(live.begin(), live.end(), [&](auto* r) { return takes_traffic(*r); });
  if (static_cast<std::size_t>(fresh_ready) >= w.desired)
    for (auto* r : outdated)
      leave(*r, "replaced: the declaration changed");
  // Too many: those that do not serve yet go first, then the newest.
  std::stable_sort(live.begin(), live.end(), [&](auto* a, auto* b) {
    return takes_traffic(*a) > takes_traffic(*b);
  });
  for (auto i = std::size_t{w.desired}; i < live.size(); ++i)
    leave(*live[i], "more replicas than wanted");
  start_missing(w, live.size(), outdated);
}

/// One more replica while somebody has waited for long, one fewer after a long idle time.
void coordinator::rescale(wanted_state& w, const std::vector<replica_state*>& live) {
  if (w.wanted.replicas_min >= w.wanted.replicas_max)
    return;
  const auto& id = w.wanted.launch.implementation;
  auto all_serve =
    std::all_of(live.begin(), live.end(), [&](auto* r) { return takes_traffic(*r); });
  auto waited = std::any_of(queue_.all().begin(), queue_.all().end(), [&](const auto& t) {
    return t.since + limits::scale_up_wait <= now_
           && std::count(t.acceptable.begin(), t.acceptable.end(), id);
  });
  if (waited && all_serve && live.size() >= w.desired && w.desired < w.wanted.replicas_max) {
    ++w.desired;
    return;
  }
  auto busy = std::any_of(live.begin(), live.end(), [&](auto* r) {
    return !r->ready_since || now_ < r->busy_at + limits::scale_down_idle;
  });
  if (!waited && !busy && live.size() >= w.desired && w.desired > w.wanted.replicas_min)
    --w.desired;
}

void coordinator::start_missing(
  wanted_state& w, std::size_t fresh, std::vector<replica_state*>& outdated
) {
  auto said = std::exchange(w.waits_for, {});
  w.pauses = false;
  while (fresh < w.desired) {
    if (!w.given_up.empty()) {
      w.waits_for = w.given_up;
      break;
    }
    if (now_ < w.retry_at) {
      w.pauses = !w.wanted.adopted;
      w.waits_for = w.wanted.adopted ? "its server to answer again; its owner starts it"
                                     : "the pause after its replica ended";
      break;
    }
    auto where = place(w.wanted.launch, rooms_for(w.wanted));
    if (!where) {
      w.waits_for = where.error();
      // No room beside the old one: it makes room, one at a time.
      if (!outdated.empty())
        leave(*outdated.front(), "makes room: the declaration changed");
      break;
    }
    start(w, *where);
    ++fresh;
  }
  changed_ = changed_ || said != w.waits_for;
}

void coordinator::start(wanted_state& w, const placement& where) {
  auto generation = next_generation();
  auto& r = replicas_[generation];
  r.implementation = w.wanted.launch.implementation;
  r.id = next_replica_id(r.implementation, where.host);
  r.host = where.host;
  r.generation = generation;
  r.devices = where.devices;
  r.launch = w.wanted.launch;
  r.launched = w.launch;
  r.busy_at = now_;
  send_start(r);
  changed_ = true;
}

void coordinator::send_start(replica_state& r) {
  r.session = hosts_.at(r.host).last.session;
  r.asked = now_;
  expect(start_replica{r.host, r.session, settings_.epoch, r.id, r.generation, r.launch, r.devices}
  );
}

void coordinator::leave(replica_state& r, const std::string& why) {
  if (r.leaving)
    return;
  r.leaving = why;
  r.leave_by = now_ + limits::drain_deadline;
  for (auto& [ingress, l] : r.leases)
    l.target = 0;
  changed_ = true;
}

/// Repeats a start or stop that went unheard, and stops what has drained.
void coordinator::chase(replica_state& r) {
  auto h = hosts_.find(r.host);
  if (h == hosts_.end() || !h->second.connected)
    return;
  auto unheard = now_ >= r.asked + limits::start_unheard || r.asked == steady_time{};
  if (r.leaving) {
    auto drained = !may_be_held_unseen(r) && held(r) == 0
                   && std::all_of(r.leases.begin(), r.leases.end(), [](auto& l) {
                        return l.second.in_flight == 0;
                      });
    if (r.stop_sent ? unheard : (drained || now_ >= r.leave_by))
      send_stop(r);
    return;
  }
  if (r.phase == phase::absent && unheard)
    send_start(r);
}

void coordinator::send_stop(replica_state& r) {
  r.stop_sent = true;
  r.asked = now_;
  auto session = hosts_.at(r.host).last.session;
  expect(stop_replica{r.host, session, settings_.epoch, r.id, r.generation, *r.leaving});
}

std::vector<host_room> coordinator::rooms_for(const wanted_implementation& w) const {
  const auto& l = w.launch;
  std::vector<host_room> rooms;
  for (const auto& [id, h] : hosts_) {
    if (w.only_on && *w.only_on != id)
      continue;
    if (!h.connected || kept_.contains(id) || !has_settled(h))
      continue;
    host_room room{.host = id, .free_devices = h.last.devices};
    room.devices = static_cast<std::uint32_t>(h.last.devices.size());
    room.verified = std::count(h.last.verified.begin(), h.last.verified.end(), l.manifest) > 0;
    std::uint64_t used = 0;
    auto take = [&](const std::vector<std::string>& devices) {
      std::erase_if(room.free_devices, [&](const auto& device) {
        return std::count(devices.begin(), devices.end(), device) > 0;
      });
    };
    for (const auto& [generation, r] : replicas_) {
      if (r.host != id)
        continue;
      used += r.launch.memory_bytes;
      room.replicas += r.implementation == l.implementation && !r.leaving ? 1 : 0;
      take(r.devices);
    }
    for (const auto& [generation, other] : neighbours_)
      if (other.host == id)
        take(other.devices);
    if (h.last.memory_bytes > 0)
      room.memory_free = h.last.memory_bytes > used ? h.last.memory_bytes - used : 0;
    rooms.push_back(std::move(room));
  }
  return rooms;
}

/// Epoch, a number of the pool's own, count: pools that share a host never meet on one
/// (address, generation), and generations of one pool grow.
std::uint64_t coordinator::next_generation() {
  auto pool = sha256(settings_.pool.value).bytes;
  auto number = std::uint64_t{pool[0]} << 12 | std::uint64_t{pool[1]} << 4 | pool[2] >> 4;
  return settings_.epoch << 40 | number << 20 | ++starts_;
}

replica_id coordinator::next_replica_id(const implementation_id& id, const host_id& host) const {
  for (auto number = 1;; ++number) {
    auto candidate = replica_id{id.value + "/" + std::to_string(number) + "@" + host.value};
    auto taken = std::any_of(replicas_.begin(), replicas_.end(), [&](const auto& entry) {
      return entry.second.id == candidate;
    });
    if (!taken)
      return candidate;
  }
}

} // namespace assay::pool
