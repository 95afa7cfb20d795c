#pragma once
// The agent's configuration as a value, from YAML (docs/agent.md) and the command line.

#include "node-agent/host/ports.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace assay::agent {

struct monitor_address {
  std::string host;
  std::uint16_t port = 0;

  friend bool operator==(const monitor_address&, const monitor_address&) = default;
};

struct agent_config {
  std::filesystem::path data;
  std::string host;                      ///< Empty: the machine's host name.
  std::vector<std::string> coordinators; ///< `HOST:PORT`
  std::filesystem::path keys;            ///< Empty: `data/agent/keys`.
  std::vector<std::filesystem::path> path;
  std::string address; ///< Empty: the one from which the first coordinator is reached.
  port_range ports;
  std::optional<monitor_address> monitor;
  bool stop_replicas = false;
  std::filesystem::path device_root = "/"; ///< In front of /sys, /proc/driver and /dev.

  friend bool operator==(const agent_config&, const agent_config&) = default;
};

/// Every problem names the file, the line and the key.
result<agent_config, std::vector<problem>>
parse_config(const std::string& file, const std::string& text);

/// What `join` writes and a `run` without `--config` reads: `parse_config` of it gives data, host,
/// coordinators and keys back.
std::filesystem::path joined_config_path(const std::filesystem::path& data);
std::string joined_config_text(const agent_config& config);

/// `ADDRESS:PORT` with an IP address, or `off`.
result<std::optional<monitor_address>, problem> parse_monitor(const std::string& text);

/// What this machine calls itself.
std::string machine_name();

/// Checks what a run needs and fills in what has a default.
result<agent_config, problem> complete(agent_config config);

} // namespace assay::agent
