#pragma once
// One look at NVIDIA devices, in a probe child: the bus first, then the library's view joined onto
// it, so that a device that is lost is seen as lost and hides no other one; then the kernel's log.
//
// A device that the library does not show is either not ours, because a cgroup, a container or
// another driver has it, and then it is left out; or it is lost.

#include "node-agent/families/nvml.hpp"
#include "node-agent/families/pci.hpp"
#include "node-agent/families/probe_protocol.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace assay::agent {

inline constexpr std::uint16_t nvidia_vendor = 0x10de;

/// NVIDIA's accelerators on the bus.
std::vector<pci_device> nvidia_devices(const std::vector<pci_device>& bus);

/// Whether a device on the bus would be ours if its library showed it: its driver has it, and its
/// node may be opened. `root` is in front of /proc and /dev.
bool is_within_reach(const pci_device& d, const std::filesystem::path& root = "/");

/// Puts what the library shows beside what is on the bus. `missing` is the code of the handles that
/// it refused, or nothing when it refused none.
std::vector<probed_device> join_bus(
  std::vector<probed_device> shown,
  const std::vector<pci_device>& bus,
  const std::string& missing,
  const std::function<bool(const pci_device&)>& is_ours
);

/// Xid lines of the kernel's log since it was asked last, the first time since boot.
class kernel_log {
public:
  explicit kernel_log(const std::filesystem::path& root = "/");
  ~kernel_log();
  kernel_log(const kernel_log&) = delete;
  kernel_log& operator=(const kernel_log&) = delete;

  bool is_open() const { return file_ >= 0; }

  /// By PCI address. Records that the kernel overwrote before they were read are counted.
  std::vector<probed_event> news();

  /// Whether it can be read, and how many of its records were lost.
  std::vector<telemetry::sample> samples(wall_ms now) const;

private:
  int file_ = -1;
  int error_ = 0;
  std::uint64_t lost_ = 0;
  std::optional<std::uint64_t> last_;
};

/// Looks, again and again, with one library and one place in the log in hand.
std::function<family_look()> nvidia_looker(const std::filesystem::path& root);

} // namespace assay::agent
