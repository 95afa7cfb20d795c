#pragma once
// The stack fingerprint: named fields that say on what a replica runs, and their digest.
//
// No field holds a port, an address, a device index, a path or a secret, so two hosts that were
// made alike have one fingerprint. A changed byte in the runtime's environment changes it.

#include "node-agent/families/cpu.hpp"
#include "node-agent/host/digest_cache.hpp"
#include "src/catalog/profile.hpp"
#include "src/wire/fabric_messages.hpp"

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace assay::agent {

using stack_fields = std::map<std::string, std::string>;

/// Digest over the sorted fields, each with its length.
fabric::fingerprint make_fingerprint(stack_fields fields);

/// `os`, `kernel`, `libc`, `cpu.model`, `cpu.flags`.
stack_fields host_fields(const cpu_facts& facts, const std::filesystem::path& root = "/");

/// The content of the runtimes in one folder of `path`. In a Python virtual environment (a
/// `pyvenv.cfg` above the folder): every file below `lib`, the interpreter, and the launchers with
/// the environment's own path taken out. Else every file in the folder. Byte code and pip's RECORD
/// are left out, because they differ between equal installations.
result<digest, problem>
environment_digest(const std::filesystem::path& folder, digest_cache& cache);

/// The words of a launch that decide what it does: argv and environment, composed with the names of
/// host, port, path and secret slots instead of their values; absolute paths become `${path}`.
std::string launch_text(const catalog::runtime_profile& profile, const catalog::slot_values& slots);

/// The host's stack as it is now. `collect` looks at everything again (stat first, so that it costs
/// little when nothing changed); `current` is what it found last. From any thread.
class host_stack {
public:
  host_stack(std::vector<std::filesystem::path> runtime_folders, digest_cache& cache);

  fabric::fingerprint collect();

  /// What a family of accelerators runs on, from now on part of it; the whole as it then is.
  fabric::fingerprint learn(catalog::family family, const stack_fields& fields);
  fabric::fingerprint current() const;

private:
  fabric::fingerprint whole();

  std::vector<std::filesystem::path> folders_;
  digest_cache& cache_;
  mutable std::mutex mutex_;
  fabric::fingerprint newest_;
  stack_fields own_; ///< Of the host alone.
  std::map<catalog::family, stack_fields> families_;
};

/// `what changed` for people: `environment sha256:1.. -> sha256:2..`; empty when nothing did.
std::string difference(const stack_fields& before, const stack_fields& after);

} // namespace assay::agent
