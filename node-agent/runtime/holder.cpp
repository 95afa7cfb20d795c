#include "node-agent/runtime/holder.hpp"

#include "node-agent/host/cgroup.hpp"
#include "node-agent/runtime/holder_files.hpp"
#include "node-agent/runtime/log_file.hpp"
#include "src/base/log.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace assay::agent {

namespace {

using namespace std::chrono_literals;

constexpr auto sweep_every = 50ms; ///< Between two looks for stragglers.
constexpr auto sweeps_max = 200;   ///< A process in uninterruptible sleep cannot be waited for.

struct pipe_ends {
  int read = -1;
  int write = -1;
};

pipe_ends make_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return {};
  return {ends[0], ends[1]};
}

/// Everything about the runtime that is known before it is forked, because between fork and exec
/// nothing may be allocated.
struct exec_plan {
  std::vector<std::string> words;
  std::vector<char*> argv;
  std::vector<char*> envp;
};

exec_plan make_exec_plan(const launch_order& order, const process_ref& holder) {
  exec_plan plan;
  plan.words = order.argv;
  for (const auto& [name, value] : order.env)
    plan.words.push_back(name + '=' + value);
  plan.words.push_back(hold_mark(holder));
  for (std::size_t i = 0; i < plan.words.size(); ++i)
    (i < order.argv.size() ? plan.argv : plan.envp).push_back(plan.words[i].data());
  plan.argv.push_back(nullptr);
  plan.envp.push_back(nullptr);
  return plan;
}

/// The child's side of the fork. Only calls that are safe after fork.
[[noreturn]] void become_runtime(const exec_plan& plan, pid_t holder, int out, int err, int told) {
  ::setsid();
  // If the holder is killed outright, nobody owns this process any more: it ends with it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != holder)
    ::_exit(127);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execve(plan.argv[0], plan.argv.data(), plan.envp.data());
  auto code = errno;
  [[maybe_unused]] auto ignored = ::write(told, &code, sizeof code); // The parent sees EOF instead.
  ::_exit(127);
}

class keeper {
public:
  keeper(std::filesystem::path directory, launch_order order)
    : directory_{std::move(directory)}, order_{std::move(order)},
      out_log_{directory_ / "stdout.log", order_.log_bytes}, err_log_{
                                                               directory_ / "stderr.log",
                                                               order_.log_bytes} {}

  int run() {
    block_signals();
    held_.holder = ref_of(::getpid()).value_or(process_ref{});
    held_.oom_kills_before = oom_kills();
    held_.cgroup = enter_new_group("assay-hold-" + std::to_string(held_.holder.pid)).native();
    record_.started = wall_now();
    if (!launch())
      return finish();
    if (auto written = write(directory_, held_); !written) {
      // Without the file no agent could ever find this runtime again.
      log::error("holder_file_failed", {{"why", to_text(written.error())}});
      record_.not_started = to_text(written.error());
      kill_everything();
      return finish();
    }
    while (runtime_running_)
      turn(wait_time());
    sweep();
    drain_logs();
    return finish();
  }

private:
  void block_signals() {
    sigset_t watched;
    ::sigemptyset(&watched);
    for (auto signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD})
      ::sigaddset(&watched, signal);
    ::sigprocmask(SIG_BLOCK, &watched, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    signals_ = ::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  }

  bool launch() {
    auto out = make_pipe();
    auto err = make_pipe();
    auto told = make_pipe();
    auto plan = make_exec_plan(order_, held_.holder);
    auto self = ::getpid();
    auto pid = ::fork();
    if (pid == 0)
      become_runtime(plan, self, out.write, err.write, told.write);
    for (auto end : {out.write, err.write, told.write})
      ::close(end);
    out_ = out.read;
    err_ = err.read;
    for (auto end : {out_, err_})
      ::fcntl(end, F_SETFL, O_NONBLOCK);
    int code = pid < 0 ? errno : 0;
    if (pid > 0 && ::read(told.read, &code, sizeof code) != sizeof code)
      code = 0; // Closed by exec: it runs.
    ::close(told.read);
    if (code == 0) {
      held_.runtime = ref_of(pid).value_or(process_ref{pid, 0});
      runtime_running_ = true;
      log::info("runtime_started", {{"pid", std::to_string(pid)}, {"program", order_.argv[0]}});
      return true;
    }
    if (pid > 0)
      ::waitpid(pid, nullptr, 0);
    record_.not_started = "cannot run " + order_.argv[0] + ": " + std::strerror(code);
    return false;
  }

  std::chrono::milliseconds wait_time() const {
    if (!kill_at_)
      return 1h;
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      *kill_at_ - std::chrono::steady_clock::now()
    );
    return std::max<std::chrono::milliseconds>(left, 0ms);
  }

  void turn(std::chrono::milliseconds patience) {
    std::array<pollfd, 3> watched{
      pollfd{signals_, POLLIN, 0}, pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0}};
    ::poll(watched.data(), watched.size(), static_cast<int>(patience.count()));
    copy(out_, out_log_);
    copy(err_, err_log_);
    take_signals();
    if (kill_at_ && std::chrono::steady_clock::now() >= *kill_at_) {
      log::warn("grace_ran_out", {});
      record_.forced = true;
      kill_at_.reset();
      ::kill(-held_.runtime.pid, SIGKILL);
    }
  }

  void copy(int& from, log_file& to) {
    std::array<char, 65'536> piece{};
    for (auto pieces = 0; from >= 0 && pieces < 16; ++pieces) {
      auto got = ::read(from, piece.data(), piece.size());
      if (got < 0)
        return;
      if (got == 0) {
        ::close(from);
        from = -1; // poll leaves a negative descriptor out.
        return;
      }
      to.append({piece.data(), static_cast<std::size_t>(got)});
    }
  }

  void take_signals() {
    signalfd_siginfo what{};
    while (::read(signals_, &what, sizeof what) == sizeof what) {
      if (what.ssi_signo == SIGCHLD)
        reap();
      else if (what.ssi_signo != SIGHUP)
        begin_stop();
    }
  }

  /// A second order to stop changes nothing: the deadline of the first one stands.
  void begin_stop() {
    if (record_.asked || !runtime_running_)
      return;
    record_.asked = true;
    kill_at_ = std::chrono::steady_clock::now() + order_.stop_grace;
    log::info("stopping", {{"signal", std::to_string(order_.stop_signal)}});
    ::kill(order_.stop_group ? -held_.runtime.pid : held_.runtime.pid, order_.stop_signal);
  }

  /// Takes every ended child; orphans of the runtime are ours too, because we are a subreaper.
  void reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (pid != held_.runtime.pid)
        continue;
      runtime_running_ = false;
      kill_at_.reset(); // What is left is the sweep's.
      if (WIFSIGNALED(status))
        record_.signal = WTERMSIG(status);
      else
        record_.code = WEXITSTATUS(status);
    }
  }

  /// Everything of ours that still runs: below us in the tree, or in the group.
  std::vector<process_ref> left_over() const {
    std::vector<process_ref> result;
    for (const auto& process : descendants(all_processes(), ::getpid()))
      if (process.state != 'Z')
        result.push_back({process.pid, process.start_ticks});
    for (auto pid : members(held_.cgroup))
      if (auto who = ref_of(pid); who && pid != ::getpid() && is_alive(*who))
        result.push_back(*who);
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }

  void kill_everything() {
    ::kill(-held_.runtime.pid, SIGKILL);
    sweep();
  }

  /// The runtime is gone; ends what it left behind. New children may appear while we look, so we
  /// look until nothing is found.
  void sweep() {
    for (auto turns = 0; turns < sweeps_max; ++turns) {
      reap();
      auto left = left_over();
      if (left.empty())
        return;
      if (turns == 0)
        record_.stragglers = static_cast<std::uint32_t>(left.size());
      for (const auto& process : left)
        send_signal(process, SIGKILL);
      turn(sweep_every);
    }
    log::error("stragglers_remain", {{"count", std::to_string(left_over().size())}});
  }

  void drain_logs() {
    copy(out_, out_log_);
    copy(err_, err_log_);
  }

  int finish() {
    record_.ended = wall_now();
    record_.oom_kills = oom_kills() - held_.oom_kills_before;
    auto written = write(directory_, record_);
    log::info("ended", {{"record", to_json(record_)}});
    if (!written)
      log::error("exit_record_failed", {{"why", to_text(written.error())}});
    if (!held_.cgroup.empty())
      leave_group();
    return written ? 0 : 1;
  }

  /// A group is removed only when empty, and we are in it: back to the parent first.
  void leave_group() {
    std::filesystem::path group{held_.cgroup};
    auto handle = ::open((group.parent_path() / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
    if (handle < 0)
      return;
    auto pid = std::to_string(::getpid());
    auto moved = ::write(handle, pid.data(), pid.size()) > 0;
    ::close(handle);
    if (moved)
      remove_group(group);
  }

  std::filesystem::path directory_;
  launch_order order_;
  log_file out_log_;
  log_file err_log_;
  holding held_;
  exit_record record_;
  bool runtime_running_ = false;
  std::optional<std::chrono::steady_clock::time_point> kill_at_;
  int signals_ = -1;
  int out_ = -1;
  int err_ = -1;
};

void detach_from_agent(const std::filesystem::path& directory) {
  ::setsid(); // Refused when we lead a session already, which is as good.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::close_range(3, ~0U, 0);
  auto nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  auto log =
    ::open((directory / "holder.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
  ::dup2(log >= 0 ? log : nothing, STDOUT_FILENO);
  ::dup2(log >= 0 ? log : nothing, STDERR_FILENO);
}

} // namespace

int hold(const std::filesystem::path& directory) {
  detach_from_agent(directory);
  log::open("assay-hold");
  auto order = read_launch_order(directory);
  if (!order) {
    log::error("launch_order_unreadable", {{"why", to_text(order.error())}});
    exit_record record;
    record.not_started = to_text(order.error());
    record.started = record.ended = wall_now();
    return write(directory, record) ? 0 : 1;
  }
  return keeper{directory, std::move(*order)}.run();
}

} // namespace assay::agent
