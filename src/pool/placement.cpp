#include "src/pool/placement.hpp"

#include <algorithm>
#include <tuple>

namespace assay::pool {

namespace {

bool has_memory(const host_room& h, const launch& l) {
  return l.memory_bytes == 0 || !h.memory_free || *h.memory_free >= l.memory_bytes;
}

/// The clause that names the nearest host's lack.
std::string lack(const launch& l, const std::vector<host_room>& rooms) {
  if (rooms.empty())
    return "no host of the pool is connected and open to new replicas";
  std::size_t most_free = 0;
  std::uint32_t most = 0;
  for (const auto& h : rooms) {
    most_free = std::max(most_free, h.free_devices.size());
    most = std::max(most, h.devices);
  }
  if (most < l.devices)
    return "a replica needs " + std::to_string(l.devices) + " devices on one host, the largest has "
           + std::to_string(most);
  if (most_free < l.devices)
    return "a replica needs " + std::to_string(l.devices)
           + " free devices on one host, the freest has " + std::to_string(most_free);
  return "no host has " + std::to_string(l.memory_bytes) + " bytes of memory left";
}

} // namespace

result<placement, std::string> place(const launch& l, const std::vector<host_room>& rooms) {
  const host_room* best = nullptr;
  auto preference = [](const host_room& h) {
    return std::tuple{
      h.replicas, !h.verified, h.free_devices.size(), std::string_view{h.host.value}};
  };
  for (const auto& h : rooms) {
    if (h.free_devices.size() < l.devices || !has_memory(h, l))
      continue;
    if (!best || preference(h) < preference(*best))
      best = &h;
  }
  if (!best)
    return unexpected{lack(l, rooms)};
  const auto& free = best->free_devices;
  return placement{best->host, {free.begin(), free.begin() + l.devices}};
}

} // namespace assay::pool
