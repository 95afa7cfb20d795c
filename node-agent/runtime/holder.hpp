#pragma once
// The holder: parent, subreaper, log owner and recorder of one runtime (`assay-agent hold DIR`).
//
// It promises: whatever ends the runtime, exit.json says how, complete or not at all; no process
// that the runtime started outlives the holder's own orderly end; its logs have a limit; and it
// lives on when the agent dies. It never restarts anything, never opens a socket, never uses a
// shell, and is ended by SIGTERM, which means: stop the runtime.

#include <filesystem>

namespace assay::agent {

/// Runs until the runtime and all it started have ended. Returns the process's exit code: 0 when an
/// exit record was written.
int hold(const std::filesystem::path& directory);

} // namespace assay::agent
