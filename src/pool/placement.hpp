#pragma once
// Where a new replica may live: one host, with its devices all to itself.

#include "src/base/result.hpp"
#include "src/pool/events.hpp"

#include <string>
#include <vector>

namespace assay::pool {

/// What a connected, undrained host has left.
struct host_room {
  host_id host;
  std::vector<std::string> free_devices;
  std::uint32_t devices = 0;                ///< Free or not.
  std::optional<std::uint64_t> memory_free; ///< None: the host did not say.
  bool verified = false;                    ///< The launch's artifact was verified there already.
  std::uint32_t replicas = 0;               ///< Of the same implementation.
};

struct placement {
  host_id host;
  std::vector<std::string> devices;
};

/// The host with the fewest replicas of the same implementation, then one that already has the
/// artifact, then the one that is left fullest. Failure: one clause that says what is missing.
result<placement, std::string> place(const launch& l, const std::vector<host_room>& rooms);

} // namespace assay::pool
