#pragma once
// One look at AMD devices, in a probe child: the topology that KFD shows says what computes, the
// files of the PCI device say how it is. No library is used, because AMD's changes its ABI from
// release to release.
//
// A node whose properties may not be read is somebody else's: that is how a cgroup says so. A card
// that no node names is no accelerator for us, and sensors of one that sleeps are left alone.

#include "node-agent/families/probe_protocol.hpp"

#include <filesystem>

namespace assay::agent {

inline constexpr std::uint16_t amd_vendor = 0x1002;

/// Everything below `root`: /sys/class/kfd, /sys/bus/pci, /sys/module, /opt/rocm.
family_look look_at_amd(const std::filesystem::path& root, wall_ms now);

} // namespace assay::agent
