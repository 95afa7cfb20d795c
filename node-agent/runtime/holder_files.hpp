#pragma once
// The files between an agent and a holder, as values: what to start, who holds it, how it ended.
//
// They are the only thing both share, so that either may die and the other goes on. Each is
// replaced as a whole; a file that cannot be read back is a problem with its path, never a guess.

#include "node-agent/host/process.hpp"
#include "src/base/clock.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay::agent {

/// launch.json: everything a holder needs. `env` is the runtime's whole environment and holds its
/// secret, therefore the file is 0600.
struct launch_order {
  std::vector<std::string> argv; ///< argv[0] is an absolute path.
  std::map<std::string, std::string> env;
  int stop_signal = 15;
  std::chrono::milliseconds stop_grace{10'000};
  bool stop_group = true; ///< The stop signal goes to the runtime's process group.
  std::uint64_t log_bytes = 0;

  friend bool operator==(const launch_order&, const launch_order&) = default;
};

/// holder.json: who holds what. Written once the runtime runs.
struct holding {
  process_ref holder;
  process_ref runtime; ///< Leads a session and a process group of its own.
  std::string cgroup;  ///< Directory made for it; empty where there is none.
  std::uint64_t oom_kills_before = 0;

  friend bool operator==(const holding&, const holding&) = default;
};

/// exit.json: exactly one of code, signal and not_started is set.
struct exit_record {
  std::optional<int> code;
  std::optional<int> signal;
  std::string not_started;      ///< Why exec failed.
  bool asked = false;           ///< A stop was asked for before it ended.
  bool forced = false;          ///< The grace ran out and it was killed.
  std::uint32_t stragglers = 0; ///< Processes that outlived the runtime and were killed.
  std::uint64_t oom_kills = 0;  ///< By the kernel, while it ran, in its cgroup.
  wall_ms started;
  wall_ms ended;

  friend bool operator==(const exit_record&, const exit_record&) = default;
};

std::string to_json(const launch_order& order);
std::string to_json(const holding& held);
std::string to_json(const exit_record& record);

result<launch_order, problem> read_launch_order(const std::filesystem::path& directory);
result<holding, problem> read_holding(const std::filesystem::path& directory);
result<exit_record, problem> read_exit_record(const std::filesystem::path& directory);

result<void, problem> write(const std::filesystem::path& directory, const launch_order& order);
result<void, problem> write(const std::filesystem::path& directory, const holding& held);
result<void, problem> write(const std::filesystem::path& directory, const exit_record& record);

/// The environment entry that marks every process of one holder: `ASSAY_HOLD=PID.START`.
inline constexpr auto hold_variable = "ASSAY_HOLD";
std::string hold_mark(const process_ref& holder);

} // namespace assay::agent
