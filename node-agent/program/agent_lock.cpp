#include "node-agent/program/agent_lock.hpp"

#include "src/base/log.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

namespace assay::agent {

namespace {

constexpr auto lock_name = "lock";

} // namespace

result<agent_lock, problem> agent_lock::take(const std::filesystem::path& agent_directory) {
  auto path = agent_directory / lock_name;
  auto file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return unexpected{problem{
      problem_kind::unavailable,
      std::string{"the lock cannot be opened: "} + std::strerror(errno),
      path.native(),
      "check the data directory and its owner"}};
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    ::close(file);
    auto other = running_agent(agent_directory);
    return unexpected{problem{
      problem_kind::refused,
      "another agent runs on this data directory"
        + (other ? " (pid " + std::to_string(other->pid) + ")" : std::string{}),
      path.native(),
      "end it with `assay-agent stop`, or use another --data"}};
  }
  auto self = ref_of(::getpid()).value_or(process_ref{});
  auto text = std::to_string(self.pid) + ' ' + std::to_string(self.start_ticks) + '\n';
  auto written =
    ::ftruncate(file, 0) == 0
    && ::pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  if (!written) {
    auto code = errno;
    ::close(file);
    return unexpected{problem{
      problem_kind::exhausted,
      std::string{"the lock cannot be written: "} + std::strerror(code),
      path.native(),
      "free space on that disk"}};
  }
  return agent_lock{file};
}

void agent_lock::ends_as_told() {
  if (::ftruncate(file_, 0) != 0)
    log::warn("agent_lock_not_cleared", {{"why", std::strerror(errno)}});
}

agent_lock::~agent_lock() {
  if (file_ >= 0)
    ::close(file_);
}

std::optional<process_ref> running_agent(const std::filesystem::path& agent_directory) {
  auto text = read_small_file(agent_directory / lock_name);
  if (!text)
    return {};
  process_ref who;
  std::istringstream fields{*text};
  if (!(fields >> who.pid >> who.start_ticks) || !is_alive(who))
    return {};
  return who;
}

} // namespace assay::agent
