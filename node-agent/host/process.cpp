#include "node-agent/host/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>

namespace assay::agent {

namespace {

std::optional<pid_t> pid_from(std::string_view name) {
  pid_t pid = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (error != std::errc{} || end != name.data() + name.size())
    return {};
  return pid;
}

template <class Visit>
void for_each_pid(Visit visit) {
  std::error_code ignored; // A process may end while we look; it is then simply not in the list.
  auto folder = std::filesystem::directory_iterator{"/proc", ignored};
  for (; !ignored && folder != std::filesystem::directory_iterator{}; folder.increment(ignored))
    if (auto pid = pid_from(folder->path().filename().native()))
      visit(*pid);
}

problem file_problem(const std::filesystem::path& path, const char* deed) {
  auto code = errno;
  auto full = code == ENOSPC || code == EDQUOT;
  return {
    full ? problem_kind::exhausted : problem_kind::unavailable,
    std::string{"cannot "} + deed + ": " + std::strerror(code),
    path.native(),
    full ? "free space on that disk" : "check the folder and its owner"};
}

bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    auto written = ::write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

} // namespace

std::optional<process_stat> parse_stat(std::string_view line) {
  auto open = line.find('(');
  auto close = line.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return {};
  auto pid = pid_from(line.substr(0, open == 0 ? 0 : open - 1));
  std::istringstream rest{std::string{line.substr(close + 1)}};
  process_stat result;
  if (!pid || !(rest >> result.state >> result.parent >> result.group >> result.session))
    return {};
  std::string skipped; // Fields 7 to 21.
  for (auto field = 7; field <= 21; ++field)
    rest >> skipped;
  if (!(rest >> result.start_ticks))
    return {};
  result.pid = *pid;
  result.name = line.substr(open + 1, close - open - 1);
  return result;
}

std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> all;
  for (auto** entry = environ; entry && *entry; ++entry)
    if (const auto* equals = std::strchr(*entry, '='))
      all.emplace(std::string(*entry, static_cast<std::size_t>(equals - *entry)), equals + 1);
  return all;
}

std::optional<process_stat> read_stat(pid_t pid) {
  auto line = read_small_file("/proc/" + std::to_string(pid) + "/stat");
  return line ? parse_stat(*line) : std::nullopt;
}

std::optional<process_ref> ref_of(pid_t pid) {
  auto stat = read_stat(pid);
  if (!stat)
    return {};
  return process_ref{pid, stat->start_ticks};
}

bool is_alive(const process_ref& who) {
  auto stat = read_stat(who.pid);
  return stat && stat->start_ticks == who.start_ticks && stat->state != 'Z' && stat->state != 'X';
}

std::vector<process_stat> all_processes() {
  std::vector<process_stat> result;
  for_each_pid([&](pid_t pid) {
    if (auto stat = read_stat(pid))
      result.push_back(std::move(*stat));
  });
  return result;
}

std::vector<process_stat> descendants(const std::vector<process_stat>& all, pid_t root) {
  std::vector<process_stat> result;
  std::vector<pid_t> parents{root};
  for (std::size_t next = 0; next < parents.size(); ++next)
    for (const auto& process : all)
      if (process.parent == parents[next] && process.pid != root) {
        result.push_back(process);
        parents.push_back(process.pid);
      }
  return result;
}

std::vector<process_ref> marked_with(std::string_view entry) {
  std::vector<process_ref> result;
  auto needle = '\0' + std::string{entry} + '\0';
  for_each_pid([&](pid_t pid) {
    auto environment = read_small_file("/proc/" + std::to_string(pid) + "/environ");
    if (!environment || ('\0' + *environment + '\0').find(needle) == std::string::npos)
      return;
    if (auto who = ref_of(pid))
      result.push_back(*who);
  });
  return result;
}

bool wait_for_end(const process_ref& who, std::chrono::milliseconds patience) {
  auto file = static_cast<int>(::syscall(SYS_pidfd_open, who.pid, 0));
  auto until = std::chrono::steady_clock::now() + patience;
  pollfd end{file, POLLIN, 0};
  // The pid may be another's by now: only the pair is the process.
  while (file >= 0 && is_alive(who)) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      until - std::chrono::steady_clock::now()
    );
    if (left.count() <= 0 || (::poll(&end, 1, static_cast<int>(left.count())) < 0 && errno != EINTR))
      break;
  }
  if (file >= 0)
    ::close(file);
  return !is_alive(who);
}

bool send_signal(const process_ref& who, int signal) {
  // The descriptor pins the process: if the start time still fits after it was opened, no other
  // process can take the pid before the signal is sent.
  auto pinned = static_cast<int>(::syscall(SYS_pidfd_open, who.pid, 0));
  if (pinned < 0)
    return false;
  auto sent = is_alive(who) && ::syscall(SYS_pidfd_send_signal, pinned, signal, nullptr, 0) == 0;
  ::close(pinned);
  return sent;
}

std::optional<std::string> read_small_file(const std::filesystem::path& path) {
  auto file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return {};
  std::string content;
  std::array<char, 4096> piece{};
  for (;;) {
    auto got = ::read(file, piece.data(), piece.size());
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      ::close(file);
      return got < 0 ? std::nullopt : std::optional{content};
    }
    content.append(piece.data(), static_cast<std::size_t>(got));
  }
}

result<void, problem>
replace_file(const std::filesystem::path& path, std::string_view content, mode_t mode) {
  auto beside = path.native() + ".new";
  ::unlink(beside.c_str()); // Left by a writer that was killed; its mode may be another.
  auto file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0)
    return unexpected{file_problem(beside, "make the file")};
  if (!write_all(file, content) || ::fsync(file) != 0) {
    auto why = file_problem(beside, "write the file");
    ::close(file);
    ::unlink(beside.c_str());
    return unexpected{why};
  }
  ::close(file);
  if (::rename(beside.c_str(), path.c_str()) != 0)
    return unexpected{file_problem(path, "replace the file")};
  return {};
}

} // namespace assay::agent
