#pragma once
// The family `cpu`: what this host computes with when it has no accelerator, and the kernel's own
// figures about it.
//
// Facts come from /proc and /sys below a root that tests replace. A figure that is not there says
// why; nothing is renamed or rescaled. Binding needs nothing: the inherited affinity mask is the
// universe.

#include "src/base/clock.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/telemetry/native.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace assay::agent {

struct numa_node {
  std::string id;   ///< `node0`
  std::string cpus; ///< As the kernel writes it: `0-7,16-23`.

  friend bool operator==(const numa_node&, const numa_node&) = default;
};

struct cpu_facts {
  std::uint32_t cpus = 0;         ///< Those that we may run on.
  std::uint64_t memory_bytes = 0; ///< Of the host, or the least limit of our cgroups.
  std::string model;
  std::vector<std::string> flags; ///< Sorted.
  std::vector<numa_node> nodes;

  friend bool operator==(const cpu_facts&, const cpu_facts&) = default;
};

/// Refused when the affinity mask is empty or memory is unknown: nothing is guessed.
result<cpu_facts, problem> discover_cpu(const std::filesystem::path& root = "/");

/// Every native sample of the host, in a fixed order.
std::vector<telemetry::sample> sample_cpu(wall_ms now, const std::filesystem::path& root = "/");

} // namespace assay::agent
