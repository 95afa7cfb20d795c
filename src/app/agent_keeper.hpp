#pragma once
// Keeps the agent of a standalone running: one that died is started again, one that was told to
// end stays ended.
//
// Which it was, the agent's lock file says (node-agent/program/agent_lock.hpp): a lock that nobody
// holds with a process id in it belonged to an agent that died; an agent that ends when told to
// leaves it empty. The agent may be one that an earlier assayd started, so it is watched by its
// process and not as a child.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>

namespace assay::app {

/// How an agent's lock file stands.
struct agent_at_lock {
  enum class state { never_ran, runs, ended, died };
  state now = state::never_ran;
  pid_t pid = 0; ///< When it runs.

  friend bool operator==(const agent_at_lock&, const agent_at_lock&) = default;
};
agent_at_lock look_at_lock(const std::filesystem::path& lock);

/// Pause before the next start of an agent that lived for `lived` after a pause of `last`: 1 s,
/// doubling to 60 s while it dies young.
std::chrono::seconds
pause_before_restart(std::chrono::seconds last, std::chrono::steady_clock::duration lived);

class agent_keeper {
public:
  /// `first` is the agent that was just started. `start` starts another and returns its process;
  /// called from the keeper's thread.
  agent_keeper(
    std::filesystem::path lock, pid_t first, std::function<result<pid_t, problem>()> start
  );
  agent_keeper(const agent_keeper&) = delete;
  agent_keeper& operator=(const agent_keeper&) = delete;

  /// Stops watching; the agent runs on.
  ~agent_keeper();

private:
  void keep(pid_t first);
  bool waits_for(pid_t process) const; ///< False when the keeper is told to stop.
  bool waits(std::chrono::seconds time) const;

  std::filesystem::path lock_;
  std::function<result<pid_t, problem>()> start_;
  int stopped_; ///< An eventfd.
  std::thread thread_;
};

} // namespace assay::app
