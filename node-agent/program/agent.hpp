#pragma once
// The running agent: the one file that knows all its parts and the order in which they start and
// end.

#include "node-agent/program/config.hpp"

namespace assay::agent {

/// Runs until SIGTERM or SIGINT (replicas stay, unless the configuration says otherwise) or SIGUSR1
/// (replicas end too). Returns the exit code.
int run_agent(const agent_config& config);

/// Ends the agent of a data directory and waits for it. Returns the exit code.
int stop_agent(const std::filesystem::path& data, bool stop_replicas);

} // namespace assay::agent
