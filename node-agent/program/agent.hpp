#pragma once
// The running agent: the one file that knows all its parts and the order in which they start and
// end.

#include "node-agent/program/command_line.hpp"
#include "node-agent/program/config.hpp"

#include <chrono>

namespace assay::agent {

/// For the graces of replicas that end with their agent, or after it.
inline constexpr std::chrono::minutes replicas_patience{2};

/// Says it on standard error; the exit code of its kind.
int fail(const problem& why);

/// Runs until SIGTERM or SIGINT (replicas stay, unless the configuration says otherwise) or SIGUSR1
/// (replicas end too). Returns the exit code.
int run_agent(const agent_config& config);

/// Ends the agent of a data directory and waits for it. Returns the exit code.
int stop_agent(const std::filesystem::path& data, bool stop_replicas);

/// Makes the agent's keys, registers them, keeps the coordinators' key, and prints what to start
/// next. Returns the exit code.
int join_host(const join_command& command);

} // namespace assay::agent
