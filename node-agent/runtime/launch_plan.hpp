#pragma once
// From the coordinator's order to what a holder starts: slots, command line, environment. Pure but
// for the search of the program; the secret goes into the environment, never into argv.

#include "node-agent/families/device_mask.hpp"
#include "node-agent/runtime/holder_files.hpp"
#include "node-agent/runtime/prober.hpp"
#include "src/wire/fabric_messages.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace assay::agent {

struct launch_place {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  std::map<std::string, std::uint16_t> more_ports; ///< By slot: metrics, gRPC, ...
  std::string secret;
  std::filesystem::path cache_directory;
  std::vector<std::filesystem::path> path;      ///< Folders searched before PATH.
  std::map<std::string, std::string> inherited; ///< The agent's own environment.
  device_binding_env devices;                   ///< What it is told of the devices it was given.
};

/// Slots that the agent fills for this order.
catalog::slot_values slots_of(const fabric::start_replica& order, const launch_place& place);

/// Finds an executable like a shell would, `path` first; the problem says where it was looked for.
result<std::filesystem::path, problem>
find_program(const std::string& name, const launch_place& place);

/// Refused with the reason when the profile cannot be launched from this order here.
result<launch_order, problem> plan_launch(
  const catalog::runtime_profile& profile,
  const fabric::start_replica& order,
  const launch_place& place
);

/// 256 bits from the system's random source, in hexadecimal.
std::string make_secret();

} // namespace assay::agent
