#include "src/pool/coordinator.hpp"

#include <algorithm>

namespace assay::pool {

namespace {

/// People need the reason of the end, and not only that there was one.
std::string why_waiting(const wanted_state& w, steady_time now) {
  auto pauses = w.given_up.empty() && now < w.retry_at && !w.last_failure.empty();
  return w.waits_for.empty() || !pauses ? w.waits_for
                                        : w.waits_for + "; it ended with: " + w.last_failure;
}

} // namespace

pool_view coordinator::view(steady_time now) const {
  pool_view v{.pool = settings_.pool, .epoch = settings_.epoch};
  for (const auto& [id, h] : hosts_) {
    auto devices = static_cast<std::uint32_t>(h.last.devices.size());
    auto in_use = std::count_if(h.last.devices.begin(), h.last.devices.end(), [&](const auto& d) {
      return std::any_of(replicas_.begin(), replicas_.end(), [&](const auto& entry) {
        const auto& r = entry.second;
        return r.host == id && std::count(r.devices.begin(), r.devices.end(), d) > 0;
      });
    });
    v.hosts.push_back({
      .id = id,
      .session = h.last.session,
      .connected = h.connected,
      .draining = kept_.contains(id),
      .devices = devices,
      .devices_free = devices - static_cast<std::uint32_t>(in_use),
      .memory_bytes = h.last.memory_bytes,
      .fingerprint = h.last.fingerprint,
      .verified = h.last.verified,
    });
  }
  for (const auto& [generation, r] : replicas_) {
    replica_view seen{
      .id = r.id,
      .implementation = r.implementation,
      .host = r.host,
      .generation = r.generation,
      .phase = r.leaving && serves(r.phase) ? phase::draining : r.phase,
      .takes_traffic = takes_traffic(r),
      .address = r.address,
      .secret = r.secret,
      .fingerprint = r.fingerprint,
      .slots = r.slots,
      .devices = r.devices,
      .reason = r.leaving.value_or(is_quarantined(r.host) ? kept_.at(r.host).why : r.reason),
      .loopback = r.loopback,
    };
    for (const auto& [id, l] : r.leases) {
      seen.credits += l.credits;
      seen.in_flight += l.in_flight;
    }
    v.replicas.push_back(std::move(seen));
  }
  for (const auto& [id, w] : wanted_) {
    implementation_view seen{
      .id = id,
      .replicas_min = w.wanted.replicas_min,
      .replicas_max = w.wanted.replicas_max,
      .failures = w.failures,
      .given_up = !w.given_up.empty(),
      .waits_for = why_waiting(w, now),
    };
    for (const auto& [generation, r] : replicas_) {
      if (r.implementation != id)
        continue;
      seen.live += is_live(r) ? 1 : 0;
      seen.ready += takes_traffic(r) ? 1 : 0;
    }
    const auto& manifest = w.wanted.launch.manifest;
    seen.artifact_verified = std::any_of(hosts_.begin(), hosts_.end(), [&](const auto& h) {
      const auto& verified = h.second.last.verified;
      return is_in_service(h.second) && std::count(verified.begin(), verified.end(), manifest) > 0;
    });
    v.implementations.push_back(std::move(seen));
  }
  for (const auto& t : queue_.all()) {
    ++v.queue.waiting[static_cast<std::size_t>(t.traffic)];
    v.queue.oldest = std::max(
      v.queue.oldest, std::chrono::duration_cast<std::chrono::milliseconds>(now - t.since)
    );
  }
  v.queue.served_per_second = rate_.per_second();
  return v;
}

} // namespace assay::pool
