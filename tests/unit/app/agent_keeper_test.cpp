// The keeper with real processes that only wait, and a lock file that the test writes.

#include "src/app/agent_keeper.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <vector>

namespace assay::app {

namespace {

using namespace std::chrono_literals;
using state = agent_at_lock::state;

/// A process that lives until it is killed.
pid_t wait_for_ever() {
  auto pid = ::fork();
  if (pid == 0)
    for (;;)
      ::pause();
  return pid;
}

void end(pid_t process) {
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
}

struct starts {
  std::mutex mutex;
  std::condition_variable grew;
  std::vector<pid_t> all;

  result<pid_t, problem> start() {
    std::lock_guard guard{mutex};
    all.push_back(wait_for_ever());
    grew.notify_all();
    return all.back();
  }
  bool reach(std::size_t count) {
    std::unique_lock lock{mutex};
    return grew.wait_for(lock, 30s, [&] { return all.size() >= count; });
  }
  void end_newest() {
    std::lock_guard guard{mutex};
    ::kill(all.back(), SIGKILL);
  }
  ~starts() {
    for (auto one : all)
      end(one);
  }
};

} // namespace

TEST_CASE("a lock file says whether its agent runs, ended as told, or died") {
  test::temp_folder data;
  auto lock = data.path() / "lock";
  CHECK(look_at_lock(lock) == agent_at_lock{state::never_ran, 0});
  data.write("lock", "1234 99\n");
  CHECK(look_at_lock(lock) == agent_at_lock{state::died, 0});
  auto holder = ::open(lock.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::flock(holder, LOCK_EX | LOCK_NB) == 0);
  CHECK(look_at_lock(lock) == agent_at_lock{state::runs, 1234});
  ::close(holder);
  data.write("lock", "");
  CHECK(look_at_lock(lock) == agent_at_lock{state::ended, 0});
}

TEST_CASE("the pause before a restart doubles for an agent that dies young, up to a minute") {
  CHECK(pause_before_restart(0s, 1ms) == 1s);
  CHECK(pause_before_restart(1s, 59s) == 2s);
  CHECK(pause_before_restart(32s, 1s) == 60s);
  CHECK(pause_before_restart(60s, 1s) == 60s);
  CHECK(pause_before_restart(60s, 60s) == 1s);
}

TEST_CASE("an agent that died is started again, each time") {
  test::temp_folder data;
  data.write("lock", "1234 99\n");
  starts agents;
  auto first = wait_for_ever();
  agent_keeper keeper{data.path() / "lock", first, [&] { return agents.start(); }};
  end(first);
  REQUIRE(agents.reach(1));
  agents.end_newest();
  REQUIRE(agents.reach(2));
}

TEST_CASE("a keeper that is told to end leaves the agent alone") {
  test::temp_folder data;
  auto agent = wait_for_ever();
  {
    agent_keeper keeper{data.path() / "lock", agent, []() -> result<pid_t, problem> {
                          return unexpected{problem{}};
                        }};
  }
  CHECK(::kill(agent, 0) == 0);
  end(agent);
}

} // namespace assay::app
