#include "node-agent/families/tool.hpp"

#include "node-agent/host/piped_child.hpp"
#include "src/base/device_limits.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace assay::agent {

result<std::string, std::string>
output_of(const std::vector<std::string>& argv, std::chrono::milliseconds patience) {
  auto made = spawn_piped(argv, child_kind::read_only);
  if (!made)
    return unexpected{argv.front() + ": " + std::strerror(made.error())};
  auto until = std::chrono::steady_clock::now() + patience;
  std::string text;
  std::string why = argv.front() + " did not end in time";
  std::array<char, 16'384> piece{};
  while (wait_for_file(made->from, POLLIN, until)) {
    auto got = ::read(made->from, piece.data(), piece.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
      continue;
    if (got <= 0) {
      why.clear();
      break;
    }
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.size() > limits::probe_line_bytes) {
      why = argv.front() + " wrote more than 4 MiB";
      break;
    }
  }
  ::close(made->from);
  if (!why.empty()) {
    ::kill(made->pid, SIGKILL);
    ::waitpid(made->pid, nullptr, WNOHANG); // One that hangs in the kernel is left to it.
    return unexpected{why};
  }
  int status = 0;
  ::waitpid(made->pid, &status, 0); // It closed its output: it ends, or the agent ends us.
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return unexpected{argv.front() + " ended with an error: " + text.substr(0, 200)};
  return text;
}

line_stream::line_stream(std::vector<std::string> argv, std::chrono::milliseconds silence)
  : argv_{std::move(argv)}, silence_{silence} {}

line_stream::~line_stream() {
  if (pid_ != 0)
    end("the probe ends");
}

void line_stream::begin() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) { // Those that were killed before.
  }
  auto made = spawn_piped(argv_, child_kind::read_only);
  heard_ = std::chrono::steady_clock::now();
  not_before_ = heard_ + limits::probe_pause_first * 5;
  if (!made) {
    newest_ = {{}, {}, argv_.front() + ": " + std::strerror(made.error())};
    return;
  }
  pid_ = made->pid;
  file_ = made->from;
  partial_.clear();
}

void line_stream::end(const std::string& why) {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, WNOHANG);
  ::close(file_);
  pid_ = 0;
  newest_ = {{}, {}, why};
}

line_stream::newest_line line_stream::newest() {
  auto now = std::chrono::steady_clock::now();
  if (pid_ == 0 && now >= not_before_)
    begin();
  std::array<char, 16'384> piece{};
  while (pid_ != 0) {
    auto got = ::read(file_, piece.data(), piece.size());
    if (got < 0)
      break;
    if (got == 0) {
      end(argv_.front() + " ended");
      break;
    }
    partial_.append(piece.data(), static_cast<std::size_t>(got));
    heard_ = now;
    if (auto last = partial_.rfind('\n'); last != std::string::npos) {
      auto before = last == 0 ? std::string::npos : partial_.rfind('\n', last - 1);
      auto begins = before == std::string::npos ? 0 : before + 1;
      newest_ = {partial_.substr(begins, last - begins), wall_now(), {}};
      partial_.erase(0, last + 1);
    }
    if (partial_.size() > limits::probe_line_bytes)
      end(argv_.front() + " wrote a line of more than 4 MiB");
  }
  if (pid_ != 0 && now - heard_ > silence_)
    end(argv_.front() + " said nothing for too long");
  return newest_;
}

} // namespace assay::agent
