#pragma once
// What `assay-agent` was asked to do, as a value. The only file that knows CLI11 is its source.

#include "node-agent/program/config.hpp"
#include "src/wire/fabric_messages.hpp"

#include <string>
#include <variant>

namespace assay::agent {

struct run_command {
  agent_config config;
};
struct stop_command {
  std::filesystem::path data;
  bool stop_replicas = false;
};
struct hold_command {
  std::filesystem::path directory;
};
/// Answers the agent's questions about a family of devices.
struct probe_command {
  std::string family;
  std::filesystem::path root = "/";
};
struct adopt_command {
  std::filesystem::path data;
  fabric::adopt_offer offer;
};
/// Registers this host with a token of `assay host token`.
struct join_command {
  std::string token; ///< `-`: the first line of standard input.
  std::filesystem::path data;
  std::filesystem::path keys;              ///< Empty: `data/agent/keys`.
  std::string host;                        ///< Empty: the machine's host name.
  std::vector<std::filesystem::path> path; ///< Folders with runtimes, kept for `run`.
};
/// Nothing to do but to end: help was printed (0), or the words were wrong (2).
struct just_exit {
  int code = 0;
};
using command = std::variant<
  run_command,
  stop_command,
  hold_command,
  probe_command,
  adopt_command,
  join_command,
  just_exit>;

/// Prints help and usage errors itself.
command parse_command_line(int argc, char** argv);

} // namespace assay::agent
