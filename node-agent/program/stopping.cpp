// `assay-agent stop`: the agent of a data directory ends, and what a dead one left.

#include "node-agent/program/agent.hpp"
#include "node-agent/program/agent_lock.hpp"
#include "node-agent/runtime/holder_files.hpp"
#include "node-agent/runtime/holder_link.hpp"

#include <signal.h>

namespace assay::agent {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto stop_patience = 3min;

/// Replicas whose agent is gone: their holders are asked, and what is left of a dead one is ended.
/// How many there were; nothing: one of them has not ended in time.
std::optional<std::size_t> stop_orphans(const fs::path& replicas) {
  std::error_code none; // No such directory: no replica was ever started.
  std::vector<fs::path> directories;
  for (const auto& entry : fs::directory_iterator{replicas, none})
    directories.push_back(entry.path());
  std::size_t found = 0;
  for (const auto& directory : directories)
    found += ask_to_stop(directory) ? 1 : 0;
  for (const auto& directory : directories) {
    auto held = read_holding(directory);
    if (held && !wait_for_end(held->holder, replicas_patience))
      return {};
    found += end_leftovers(directory) > 0 ? 1 : 0;
  }
  return found;
}

} // namespace

int stop_agent(const fs::path& data, bool stop_replicas) {
  auto who = running_agent(data / "agent");
  const auto orphans = !who && stop_replicas ? stop_orphans(data / "agent/replicas") : 0;
  if (!orphans)
    return fail(
      {problem_kind::unavailable,
       "no agent runs on this data directory, and a replica has not ended within 2 min",
       data.native(),
       "look into its log under agent/replicas"}
    );
  if (!who && *orphans > 0)
    return 0;
  if (!who)
    return fail(
      {problem_kind::unavailable,
       "no agent runs on this data directory",
       data.native(),
       "nothing is to be done; or name another --data"}
    );
  send_signal(*who, stop_replicas ? SIGUSR1 : SIGTERM);
  if (wait_for_end(*who, stop_patience))
    return 0;
  return fail(
    {problem_kind::unavailable,
     "the agent (pid " + std::to_string(who->pid) + ") has not ended within 3 min",
     data.native(),
     "look into its log; as a last means send it SIGKILL: its replicas live on"}
  );
}

} // namespace assay::agent
