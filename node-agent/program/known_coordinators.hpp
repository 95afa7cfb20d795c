#pragma once
// The coordinators that this agent was told of, kept in agent/coordinators.json for its next run,
// so that it finds one when those of its configuration are gone.
//
// The file is a memory, never the truth: it belongs to the configured coordinators that it names,
// and one that is damaged or belongs to others counts as empty.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/wire/fabric_messages.hpp"

#include <filesystem>
#include <mutex>
#include <vector>

namespace assay::agent {

using coordinators = std::vector<fabric::coordinator_at>;

/// `DIR/agent/coordinators.json`
std::filesystem::path known_coordinators_path(const std::filesystem::path& data);

/// Empty when there is no file, or when it was learned from other coordinators than `configured`.
result<coordinators, problem>
read_known_coordinators(const std::filesystem::path& file, const coordinators& configured);

/// Whole or not at all, mode 0600.
result<void, problem> write_known_coordinators(
  const std::filesystem::path& file, const coordinators& configured, const coordinators& learned
);

/// The newest list wins, whichever thread comes last to write it.
class coordinator_memory {
public:
  coordinator_memory(std::filesystem::path file, coordinators configured)
    : file_{std::move(file)}, configured_{std::move(configured)} {}

  void learn(coordinators learned);

  /// Writes what was learned last. It blocks, and says in the log what went wrong.
  void keep();

private:
  const std::filesystem::path file_;
  const coordinators configured_;
  std::mutex mutex_;
  coordinators learned_;
  std::mutex writing_;
};

} // namespace assay::agent
