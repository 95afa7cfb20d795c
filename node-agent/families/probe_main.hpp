#pragma once
// The program of a probe child: `assay-agent probe FAMILY`.

#include <filesystem>
#include <string>

namespace assay::agent {

/// Answers the agent's questions on standard input, a line for a line, until there are no more; the
/// exit code. It ends with the thread that began it.
int run_probe(const std::string& family, const std::filesystem::path& root);

} // namespace assay::agent
