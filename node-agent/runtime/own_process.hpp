#pragma once
// Whether a process belongs to a replica of this agent: by the mark that its holder gave it.

#include <cstdint>
#include <filesystem>

namespace assay::agent {

/// `replicas`: where the folders of this agent's replicas lie. False for a process that is gone or
/// whose environment may not be read: then it is not one that we started.
bool belongs_to_replica(std::int64_t pid, const std::filesystem::path& replicas);

} // namespace assay::agent
