#include "node-agent/families/probe_child.hpp"

#include "node-agent/host/piped_child.hpp"
#include "src/base/device_limits.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace assay::agent {

namespace {

using namespace std::chrono_literals;

constexpr auto farewell = 200ms; ///< For a killed child to be reaped when the agent ends.

steady_time clock_now() {
  return std::chrono::steady_clock::now();
}

problem no_answer(const std::vector<std::string>& argv, const std::string& what) {
  return {
    problem_kind::unavailable,
    what,
    argv.front(),
    "its family is stale until it answers; it is begun anew by itself"};
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status))
    return "ended by signal " + std::to_string(WTERMSIG(status));
  return "ended with " + std::to_string(WEXITSTATUS(status));
}

} // namespace

probe_child::~probe_child() {
  if (pid_ == 0)
    return;
  retire();
  for (auto until = clock_now() + farewell; !is_reaped() && clock_now() < until;)
    ::poll(nullptr, 0, 5);
}

result<std::string, problem>
probe_child::ask(std::string_view line, std::chrono::milliseconds patience) {
  auto until = clock_now() + patience;
  if (pid_ != 0 && is_killed_ && !is_reaped())
    return unexpected{no_answer(
      argv_,
      "the probe was killed and has not ended (pid " + std::to_string(pid_)
        + "): it hangs in the kernel, and no other one is begun"
    )};
  if (pid_ == 0) {
    if (clock_now() < not_before_)
      return unexpected{no_answer(argv_, "the probe " + ended_how_ + " and is begun again later")};
    if (auto begun = begin(); !begun)
      return unexpected{begun.error()};
  }
  if (!write_line(line, until))
    return unexpected{end("the probe takes no question")};
  auto answer = read_line(until);
  if (answer)
    pause_ = {};
  return answer;
}

result<void, problem> probe_child::begin() {
  auto made = spawn_piped(argv_, child_kind::asked);
  if (!made) {
    ended_how_ = std::string{"could not be started: "} + std::strerror(made.error());
    not_before_ = clock_now() + limits::probe_pause_most;
    return unexpected{no_answer(argv_, "the probe " + ended_how_)};
  }
  pid_ = made->pid;
  to_ = made->to;
  from_ = made->from;
  is_killed_ = false;
  return {};
}

/// SIGPIPE is ignored in the agent, so that a child that is gone is an error here.
bool probe_child::write_line(std::string_view line, steady_time until) const {
  std::string left{line};
  left += '\n';
  while (!left.empty()) {
    auto written = ::write(to_, left.data(), left.size());
    if (written > 0) {
      left.erase(0, static_cast<std::size_t>(written));
      continue;
    }
    if (errno != EAGAIN && errno != EINTR)
      return false;
    if (!wait_for_file(to_, POLLOUT, until))
      return false;
  }
  return true;
}

result<std::string, problem> probe_child::read_line(steady_time until) {
  std::string line;
  std::array<char, 16'384> piece{};
  while (wait_for_file(from_, POLLIN, until)) {
    auto got = ::read(from_, piece.data(), piece.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
      continue;
    if (got <= 0)
      return unexpected{end("the probe closed its end")};
    line.append(piece.data(), static_cast<std::size_t>(got));
    if (line.back() == '\n' && line.find('\n') == line.size() - 1) {
      line.pop_back();
      return line;
    }
    // It answers once for each question, so that nothing stands behind an answer's end.
    if (line.find('\n') != std::string::npos)
      return unexpected{end("the probe said more than it was asked")};
    if (line.size() > limits::probe_line_bytes)
      return unexpected{end("the probe's answer is longer than 4 MiB")};
  }
  return unexpected{end("the probe did not answer in time")};
}

void probe_child::retire() {
  if (pid_ == 0 || is_killed_)
    return;
  close_files();
  ended_how_ = "was given up";
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  is_killed_ = true;
}

/// Whatever it was doing, it is over; what it left behind is killed with it.
problem probe_child::end(const std::string& why) {
  retire();
  pause_ = std::min<std::chrono::milliseconds>(
    std::max<std::chrono::milliseconds>(pause_ * 2, limits::probe_pause_first),
    limits::probe_pause_most
  );
  not_before_ = clock_now() + pause_;
  auto known = is_reaped() ? " (it " + ended_how_ + ")" : std::string{};
  return no_answer(argv_, why + known);
}

bool probe_child::is_reaped() {
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == 0)
    return false;
  ended_how_ = how_it_ended(status);
  pid_ = 0;
  return true;
}

void probe_child::close_files() {
  for (auto* file : {&to_, &from_}) {
    if (*file >= 0)
      ::close(*file);
    *file = -1;
  }
}

} // namespace assay::agent
