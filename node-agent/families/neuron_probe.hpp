#pragma once
// One look at AWS Neuron devices, in a probe child: the bus, what `neuron-ls` lists, and the newest
// line of a `neuron-monitor` that runs on beside it.
//
// What is leased is a core, because that is what its runtime's mask counts. Every runtime lists all
// of its cores with zeros for those that it leaves idle, so a core's figure is the largest that any
// of them gives, and a group that carries an error has no figures at all.

#include "node-agent/families/probe_protocol.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::agent {

/// What `neuron-ls -j` printed: each core of each device, in the order of their numbers. Refused
/// with what is wrong when it is no such list.
result<std::vector<probed_device>, std::string> parse_neuron_ls(std::string_view text);

/// Adds what one document of `neuron-monitor` says: figures, and what makes a device's cores sick.
/// False, and nothing is added, when it is no such document.
bool add_neuron_monitor(std::string_view line, wall_ms taken, family_look& to);

/// Looks, again and again, with one monitor in hand.
std::function<family_look()> neuron_looker(const std::filesystem::path& root);

inline constexpr std::uint16_t neuron_vendor = 0x1d0f;
/// Its neighbours of the same vendor are network and disks.
bool is_neuron_device(std::uint16_t vendor, std::uint16_t device);

} // namespace assay::agent
