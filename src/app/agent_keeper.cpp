#include "src/app/agent_keeper.hpp"

#include "src/base/log.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>

namespace assay::app {

namespace {

using namespace std::chrono_literals;

constexpr auto pause_first = 1s;
constexpr auto pause_most = 60s;
constexpr auto lived_well = 60s;

bool is_held(const std::filesystem::path& lock) {
  auto file = ::open(lock.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  auto is_free = ::flock(file, LOCK_SH | LOCK_NB) == 0;
  ::close(file);
  return !is_free;
}

pid_t pid_in(const std::filesystem::path& lock) {
  std::ifstream in{lock};
  pid_t pid = 0;
  in >> pid;
  return in ? pid : 0;
}

} // namespace

agent_at_lock look_at_lock(const std::filesystem::path& lock) {
  using state = agent_at_lock::state;
  std::error_code unreadable;
  if (!std::filesystem::exists(lock, unreadable))
    return {state::never_ran, 0};
  // Held first: an agent that takes the lock writes its id a moment later.
  auto held = is_held(lock);
  auto pid = pid_in(lock);
  if (held)
    return {state::runs, pid};
  return {pid == 0 ? state::ended : state::died, 0};
}

std::chrono::seconds
pause_before_restart(std::chrono::seconds last, std::chrono::steady_clock::duration lived) {
  if (lived >= lived_well || last == 0s)
    return pause_first;
  return std::min<std::chrono::seconds>(last * 2, pause_most);
}

agent_keeper::agent_keeper(
  std::filesystem::path lock, pid_t first, std::function<result<pid_t, problem>()> start
)
  : lock_{std::move(lock)}, start_{std::move(start)}, stopped_{::eventfd(0, EFD_CLOEXEC)},
    thread_{[this, first] { keep(first); }} {}

agent_keeper::~agent_keeper() {
  std::uint64_t one = 1;
  // An eventfd takes eight bytes at once, or the process has no descriptors that work.
  [[maybe_unused]] auto told = ::write(stopped_, &one, sizeof one);
  thread_.join();
  ::close(stopped_);
}

void agent_keeper::keep(pid_t next) {
  auto pause = 0s;
  while (true) {
    auto begun = std::chrono::steady_clock::now();
    if (!waits_for(next))
      return;
    auto now = look_at_lock(lock_);
    if (now.now == agent_at_lock::state::runs) {
      next = now.pid; // The one that ended had found it there.
      continue;
    }
    if (now.now == agent_at_lock::state::ended) {
      log::info("agent_stopped", {{"next", "it is started again with assayd"}});
      return;
    }
    pause = pause_before_restart(pause, std::chrono::steady_clock::now() - begun);
    if (now.now == agent_at_lock::state::died)
      log::warn("agent_died", {{"restart_in_s", std::to_string(pause.count())}});
    if (!waits(pause))
      return;
    auto started = start_();
    next = started ? *started : 0;
    if (!started)
      log::error("agent_not_started", {{"why", to_text(started.error())}});
  }
}

bool agent_keeper::waits_for(pid_t process) const {
  // Without a process there is nothing to wait for, and one that cannot be opened has ended.
  auto file = process > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, process, 0)) : -1;
  if (file < 0)
    return waits(0s);
  std::array<pollfd, 2> ready{pollfd{file, POLLIN, 0}, pollfd{stopped_, POLLIN, 0}};
  while (::poll(ready.data(), ready.size(), -1) < 0 && errno == EINTR) {
  }
  ::close(file);
  return ready[1].revents == 0;
}

bool agent_keeper::waits(std::chrono::seconds time) const {
  pollfd told{stopped_, POLLIN, 0};
  auto ms = static_cast<int>(std::chrono::milliseconds{time}.count());
  while (::poll(&told, 1, ms) < 0 && errno == EINTR) {
  }
  return told.revents == 0;
}

} // namespace assay::app
