#pragma once
// The agent's view of one holder: start it, look at it, ask it to stop, end what a dead one left.
//
// Everything goes through the replica's folder and signals to (pid, start time), so that an agent
// that was started a moment ago can do all of it for a holder that its predecessor started.

#include "node-agent/runtime/holder_files.hpp"

#include <filesystem>
#include <variant>
#include <vector>

namespace assay::agent {

/// Starts `assay-agent hold DIRECTORY` from `program` (this executable unless a test says
/// otherwise) in a session of its own, after writing the order. Removes what an earlier run left in
/// the folder.
result<process_ref, problem> start_holder(
  const std::filesystem::path& directory,
  const launch_order& order,
  const std::filesystem::path& program = "/proc/self/exe"
);

/// The holder was started and has not written holder.json yet.
struct holder_starting {};
struct holder_alive {
  holding held;
};
/// The runtime ended and the record says how.
struct holder_ended {
  exit_record record;
};
/// The holder was killed: how the runtime ended nobody knows. What it left must be ended.
struct holder_lost {
  std::string why;
};
using holder_view = std::variant<holder_starting, holder_alive, holder_ended, holder_lost>;

/// One look. `started` is what start_holder returned; nothing when the holder was taken over.
holder_view
look_at_holder(const std::filesystem::path& directory, const std::optional<process_ref>& started);

/// Asks the holder to stop its runtime; false when there is no such holder any more.
bool ask_to_stop(const std::filesystem::path& directory);

/// Kills whatever a dead holder left, found by session, by its mark and by cgroup. Returns how many
/// processes it had to kill.
std::size_t end_leftovers(const std::filesystem::path& directory);

/// Every process of a living replica: the runtime and all below its holder.
std::vector<pid_t> process_tree(const holding& held);

} // namespace assay::agent
