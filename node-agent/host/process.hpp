#pragma once
// Processes of this machine as facts: who is whose child, who is still the same process.
//
// A pid alone names nothing, because the kernel gives it away again; a process is named by pid and
// start time together. Nothing here ends a process that it was not given by that pair.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::agent {

/// One process for ever: the start time (field 22 of /proc/PID/stat, clock ticks since boot) tells
/// it from a later one with the same pid.
struct process_ref {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;

  friend auto operator<=>(const process_ref&, const process_ref&) = default;
};

struct process_stat {
  pid_t pid = 0;
  std::string name;
  char state = '?';
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  std::uint64_t start_ticks = 0;
};

/// Reads one /proc/PID/stat line. The name may hold blanks and brackets: it ends at the last ')'.
std::optional<process_stat> parse_stat(std::string_view line);

/// What /proc says of a process now; nothing when there is none.
std::optional<process_stat> read_stat(pid_t pid);

/// Pid and start time of a process that runs now.
std::optional<process_ref> ref_of(pid_t pid);

/// True while that very process runs; a zombie has ended.
bool is_alive(const process_ref& who);

std::vector<process_stat> all_processes();

/// Every process below `root`, children before grandchildren. Pure.
std::vector<process_stat> descendants(const std::vector<process_stat>& all, pid_t root);

/// Processes whose environment holds the entry `NAME=VALUE`; those that may not be read are left
/// out.
std::vector<process_ref> marked_with(std::string_view entry);

/// Waits for its end, at most `patience`; false when it still runs then.
bool wait_for_end(const process_ref& who, std::chrono::milliseconds patience);

/// Sends a signal to exactly that process; false when it is no more.
bool send_signal(const process_ref& who, int signal);

/// This process's own environment, as it is now.
std::map<std::string, std::string> own_environment();

/// A file of /proc or /sys in one piece; nothing when it cannot be read.
std::optional<std::string> read_small_file(const std::filesystem::path& path);

/// Replaces a file as a whole: written beside it, synced, renamed. `mode` holds from its first
/// byte.
result<void, problem>
replace_file(const std::filesystem::path& path, std::string_view content, mode_t mode);

} // namespace assay::agent
