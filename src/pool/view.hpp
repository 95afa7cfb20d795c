#pragma once
// One pool as people and the snapshot builder see it: plain values, copied out of the coordinator.

#include "src/base/clock.hpp"
#include "src/base/digest.hpp"
#include "src/base/ids.hpp"
#include "src/pool/replica.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay::pool {

struct host_view {
  host_id id;
  std::uint64_t session = 0;
  bool connected = false;
  bool draining = false; ///< Kept from work: nothing new is started there.
  std::uint32_t devices = 0;
  std::uint32_t devices_free = 0;
  std::uint64_t memory_bytes = 0;
  digest fingerprint;
  std::vector<digest> verified;

  friend bool operator==(const host_view&, const host_view&) = default;
};

struct replica_view {
  replica_id id;
  implementation_id implementation;
  host_id host;
  std::uint64_t generation = 0;
  pool::phase phase = phase::absent;
  bool takes_traffic = false; ///< Admitted, ready, on a connected host and not leaving.
  std::string address;
  std::string secret; ///< For the relay; never printed.
  digest fingerprint;
  std::uint32_t slots = 0;
  std::uint32_t credits = 0;   ///< Out on leases, over all ingresses.
  std::uint32_t in_flight = 0; ///< As the ingresses last reported.
  std::vector<std::string> devices;
  std::string reason;
  std::string loopback; ///< Of its host; empty: not told.

  endpoint_key key() const { return {address, generation}; }
  friend bool operator==(const replica_view&, const replica_view&) = default;
};

struct implementation_view {
  implementation_id id;
  std::uint32_t replicas_min = 0;
  std::uint32_t replicas_max = 0;
  std::uint32_t ready = 0;
  std::uint32_t live = 0;     ///< Asked for or running, not leaving.
  std::uint32_t failures = 0; ///< In a row.
  bool given_up = false;
  bool artifact_verified = false; ///< On at least one connected host.
  std::string waits_for; ///< Why there are fewer replicas than wanted; empty: there are not.

  friend bool operator==(const implementation_view&, const implementation_view&) = default;
};

struct queue_view {
  std::array<std::uint32_t, 4> waiting{}; ///< By traffic class, in the enum's order.
  std::chrono::milliseconds oldest{};
  std::optional<double> served_per_second; ///< None: nothing measured yet.

  friend bool operator==(const queue_view&, const queue_view&) = default;
};

struct pool_view {
  pool_id pool;
  std::uint64_t epoch = 0;
  std::vector<host_view> hosts;                     ///< By id.
  std::vector<replica_view> replicas;               ///< By generation.
  std::vector<implementation_view> implementations; ///< By id.
  queue_view queue;
};

} // namespace assay::pool
