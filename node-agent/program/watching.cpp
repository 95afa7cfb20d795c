#include "node-agent/program/watching.hpp"

#include "node-agent/families/amd_probe.hpp"
#include "node-agent/families/neuron_probe.hpp"
#include "node-agent/families/nvidia_probe.hpp"
#include "node-agent/runtime/own_process.hpp"
#include "src/base/device_limits.hpp"

#include <algorithm>

namespace assay::agent {

namespace {

namespace fs = std::filesystem;

bool is_there(catalog::family family, const std::vector<pci_device>& bus) {
  if (family == catalog::family::nvidia)
    return !nvidia_devices(bus).empty();
  if (family == catalog::family::neuron)
    return std::ranges::any_of(bus, [](const auto& d) {
      return is_neuron_device(d.vendor, d.device);
    });
  return std::ranges::any_of(bus, [](const auto& d) {
    return d.vendor == amd_vendor && is_accelerator_class(d) && d.driver == "amdgpu";
  });
}

} // namespace

std::vector<std::shared_ptr<watched_family>>
watched_families(const agent_config& config, const fs::path& replicas) {
  std::vector<std::shared_ptr<watched_family>> all;
  auto bus = read_pci_bus(config.device_root);
  std::error_code none; // /proc is there, or nothing else would be.
  auto program = fs::read_symlink("/proc/self/exe", none).native();
  for (auto family : {catalog::family::nvidia, catalog::family::amd, catalog::family::neuron}) {
    if (!is_there(family, bus))
      continue;
    auto name = std::string{catalog::name(family)};
    all.push_back(std::make_shared<watched_family>(family_plan{
      .family = family,
      .probe = {program, "probe", name, "--root", config.device_root.native()},
      .inherited = own_environment(),
      .is_ours = [replicas](std::int64_t pid) { return belongs_to_replica(pid, replicas); },
      .patience = limits::probe_patience,
    }));
  }
  return all;
}

} // namespace assay::agent
