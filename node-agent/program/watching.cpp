#include "node-agent/program/watching.hpp"

#include "node-agent/families/nvidia_probe.hpp"
#include "node-agent/runtime/own_process.hpp"
#include "src/base/device_limits.hpp"

#include <unistd.h>

#include <cstring>

namespace assay::agent {

namespace {

namespace fs = std::filesystem;

environment own_environment() {
  environment all;
  for (auto** entry = environ; entry && *entry; ++entry)
    if (const auto* equals = std::strchr(*entry, '='))
      all.emplace(std::string(*entry, static_cast<std::size_t>(equals - *entry)), equals + 1);
  return all;
}

} // namespace

std::vector<std::shared_ptr<watched_family>>
watched_families(const agent_config& config, const fs::path& replicas) {
  std::vector<std::shared_ptr<watched_family>> all;
  if (nvidia_devices(read_pci_bus(config.device_root)).empty())
    return all;
  std::error_code none; // /proc is there, or nothing else would be.
  all.push_back(std::make_shared<watched_family>(family_plan{
    .family = catalog::family::nvidia,
    .probe =
      {fs::read_symlink("/proc/self/exe", none).native(),
       "probe",
       "nvidia",
       "--root",
       config.device_root.native()},
    .inherited = own_environment(),
    .is_ours = [replicas](std::int64_t pid) { return belongs_to_replica(pid, replicas); },
    .patience = limits::probe_patience,
  }));
  return all;
}

} // namespace assay::agent
