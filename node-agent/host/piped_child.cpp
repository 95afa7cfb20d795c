#include "node-agent/host/piped_child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace assay::agent {

namespace {

std::vector<std::string> child_environment() {
  std::vector<std::string> all;
  for (auto** one = environ; one && *one; ++one)
    if (std::strncmp(*one, "LC_ALL=", 7) != 0)
      all.emplace_back(*one);
  all.emplace_back("LC_ALL=C");
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (auto& one : texts)
    all.push_back(one.data());
  all.push_back(nullptr);
  return all;
}

void close_all(const std::array<int, 4>& files) {
  for (auto file : files)
    if (file >= 0)
      ::close(file);
}

} // namespace

result<piped_child, int> spawn_piped(std::vector<std::string> argv, child_kind kind) {
  const auto is_asked = kind == child_kind::asked;
  std::array<int, 4> pipes{-1, -1, -1, -1}; // Its output's two ends, then its input's.
  if (::pipe2(pipes.data(), O_CLOEXEC) != 0 || (is_asked && ::pipe2(&pipes[2], O_CLOEXEC) != 0)) {
    auto error = errno;
    close_all(pipes);
    return unexpected{error};
  }
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  if (is_asked)
    ::posix_spawn_file_actions_adddup2(&files, pipes[2], STDIN_FILENO);
  else
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, pipes[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t how;
  ::posix_spawnattr_init(&how);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&how, &none);
  auto flags = POSIX_SPAWN_SETSIGMASK | (is_asked ? POSIX_SPAWN_SETSID : 0);
  ::posix_spawnattr_setflags(&how, static_cast<short>(flags));
  auto environment = child_environment();
  piped_child made;
  auto error = ::posix_spawnp(
    &made.pid,
    argv.front().c_str(),
    &files,
    &how,
    pointers_to(argv).data(),
    pointers_to(environment).data()
  );
  ::posix_spawnattr_destroy(&how);
  ::posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    close_all(pipes);
    return unexpected{error};
  }
  close_all({pipes[1], pipes[2], -1, -1});
  made.from = pipes[0];
  made.to = pipes[3];
  for (auto file : {made.from, made.to})
    if (file >= 0)
      ::fcntl(file, F_SETFL, O_NONBLOCK);
  return made;
}

bool wait_for_file(int file, short events, steady_time until) {
  for (;;) {
    auto left =
      std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0)
      return false;
    pollfd one{file, events, 0};
    auto got = ::poll(&one, 1, static_cast<int>(left.count()));
    if (got > 0)
      return true;
    if (got < 0 && errno != EINTR)
      return false;
  }
}

} // namespace assay::agent
