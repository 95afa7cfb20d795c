#pragma once
// One agent per data directory: DIR/agent/lock is locked while it runs and says who it is. An agent
// that ends because it was told to leaves the file empty; one that died leaves its id there.

#include "node-agent/host/process.hpp"

#include <filesystem>
#include <optional>

namespace assay::agent {

class agent_lock {
public:
  /// Refused when another agent holds it; the problem names its pid.
  static result<agent_lock, problem> take(const std::filesystem::path& agent_directory);

  /// The end that follows was asked for.
  void ends_as_told();

  ~agent_lock();
  agent_lock(agent_lock&& other) noexcept : file_{std::exchange(other.file_, -1)} {}
  agent_lock& operator=(agent_lock&&) = delete;

private:
  explicit agent_lock(int file) : file_{file} {}

  int file_ = -1;
};

/// The agent that runs on this directory now, by pid and start time; nothing when none does.
std::optional<process_ref> running_agent(const std::filesystem::path& agent_directory);

} // namespace assay::agent
