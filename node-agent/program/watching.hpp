#pragma once
// Which families of accelerators this agent watches: those of which something is on the bus.

#include "node-agent/families/watched_family.hpp"
#include "node-agent/program/config.hpp"

namespace assay::agent {

/// `replicas`: where the folders of this agent's replicas lie, whose processes are its own.
std::vector<std::shared_ptr<watched_family>>
watched_families(const agent_config& config, const std::filesystem::path& replicas);

} // namespace assay::agent
