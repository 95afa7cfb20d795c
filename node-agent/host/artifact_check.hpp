#pragma once
// Proof that what lies on this host's disk is the artifact that was approved: each file of the
// manifest by size and SHA-256, before anything is launched from it.
//
// It never follows a path out of the artifact's folder, names the first file that is wrong, reads a
// few files at once, and can be stopped and gone on with: what was read is in the digest cache.

#include "node-agent/host/digest_cache.hpp"
#include "src/catalog/declarations.hpp"

#include <functional>

namespace assay::agent {

enum class artifact_fault : std::uint8_t { mismatched, unreadable, cancelled };

struct artifact_problem {
  artifact_fault fault = artifact_fault::unreadable;
  problem why; ///< `where` is the file.
};

struct artifact_progress {
  std::uint64_t checked_bytes = 0;
  std::uint64_t total_bytes = 0;
};

/// Verifies every file below `location`. `progress` is called from several threads, at most every
/// megabyte; `cancelled` likewise.
result<artifact_progress, artifact_problem> check_artifact(
  const std::filesystem::path& location,
  const std::vector<catalog::artifact_file>& files,
  digest_cache& cache,
  const std::function<void(const artifact_progress&)>& progress = {},
  const std::function<bool()>& cancelled = {}
);

} // namespace assay::agent
