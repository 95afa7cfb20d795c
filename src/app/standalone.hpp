#pragma once
// What `--standalone` adds: a local agent with keys made for it, a file that says where everything
// listens, and the try-out key for `assay env`.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/fabric/curve_keys.hpp"

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::app {

inline constexpr std::string_view tryout_key_name = "tryout";
inline constexpr std::string_view local_host_name = "local";

/// The agent's key pair in DIR/agent/keys, beside the coordinator's public key; made when missing.
result<fabric::key_pair, problem>
prepare_agent_keys(const std::filesystem::path& data, const fabric::public_key& coordinator);

/// Where this run of assayd listens: DIR/run/endpoints.json.
struct endpoints {
  std::string ingress;
  std::string monitor;
  std::string agents;
  std::string admin;
};
result<void, problem> write_endpoints(const std::filesystem::path& data, const endpoints& where);

/// Of the run before this one, so that addresses stay the same where they can; nothing on a first
/// run.
std::optional<endpoints> read_endpoints(const std::filesystem::path& data);

/// Starts `assay-agent` beside this program, in a session of its own, and returns its process: it
/// outlives assayd, and ends at once when one runs already on that data directory. Its log is
/// DIR/agent/agent.log.
result<pid_t, problem> start_agent(
  const std::filesystem::path& data,
  const std::string& coordinator,
  const std::vector<std::string>& runtime_path
);

/// Ends the agent of an earlier run, which dials an address that is ours no more; its replicas
/// stay.
result<void, problem> stop_agent(const std::filesystem::path& data);

/// The secret of the key `tryout`, as an apply issued it: DIR/run/env (0600) keeps it for `assay
/// env`.
result<std::string, problem> read_tryout_key(const std::filesystem::path& data);
result<void, problem>
write_env(const std::filesystem::path& data, const std::string& base_url, const std::string& key);

} // namespace assay::app
