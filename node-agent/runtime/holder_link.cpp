#include "node-agent/runtime/holder_link.hpp"

#include "node-agent/host/cgroup.hpp"
#include "node-agent/host/folder_watch.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace assay::agent {

namespace {

constexpr std::chrono::milliseconds end_patience{20};
constexpr std::array stale_files{"holder.json", "exit.json"};

/// The holder starts with clean signals and without our terminal's session.
struct spawn_settings {
  posix_spawnattr_t attributes{};

  spawn_settings() {
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setflags(
      &attributes,
      static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID)
    );
  }
  ~spawn_settings() { ::posix_spawnattr_destroy(&attributes); }
};

/// A child of ours that ended stays a zombie until we take it; one that was taken over is not ours.
void take_if_ended(pid_t pid) {
  ::waitpid(pid, nullptr, WNOHANG);
}

bool belongs_to_session(const process_stat& process, const holding& held) {
  return process.session == held.runtime.pid && process.start_ticks >= held.runtime.start_ticks;
}

std::vector<process_ref> find_leftovers(const holding& held) {
  auto result = marked_with(hold_mark(held.holder));
  for (const auto& process : all_processes())
    if (belongs_to_session(process, held) && process.state != 'Z')
      result.push_back({process.pid, process.start_ticks});
  for (auto pid : members(held.cgroup))
    if (auto who = ref_of(pid))
      result.push_back(*who);
  std::erase_if(result, [&](const process_ref& who) {
    return !is_alive(who) || who == held.holder;
  });
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

} // namespace

result<process_ref, problem> start_holder(
  const std::filesystem::path& directory,
  const launch_order& order,
  const std::filesystem::path& program
) {
  for (const auto* name : stale_files)
    ::unlink((directory / name).c_str());
  if (auto written = write(directory, order); !written)
    return unexpected{written.error()};
  spawn_settings settings;
  std::array<std::string, 3> words{"assay-agent", "hold", directory.native()};
  std::array<char*, 4> argv{words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t pid = 0;
  auto code =
    ::posix_spawn(&pid, program.c_str(), nullptr, &settings.attributes, argv.data(), environ);
  if (code != 0)
    return unexpected{problem{
      problem_kind::unavailable,
      std::string{"the holder could not be started: "} + std::strerror(code),
      program.native(),
      "check the limits on processes and memory of the agent"}};
  return ref_of(pid).value_or(process_ref{pid, 0});
}

holder_view
look_at_holder(const std::filesystem::path& directory, const std::optional<process_ref>& started) {
  if (started)
    take_if_ended(started->pid);
  auto held = read_holding(directory);
  auto holder = held ? std::optional{held->holder} : started;
  // Alive is asked before the record is read: a holder writes its record and ends, never the other
  // way round, so "not alive and no record" is final.
  auto alive = holder && is_alive(*holder);
  if (auto record = read_exit_record(directory))
    return alive ? holder_view{holder_alive{held ? *held : holding{*holder, {}, {}, 0}}}
                 : holder_view{holder_ended{*record}};
  if (!alive)
    return holder_lost{"the holder was killed, so how the runtime ended is not known"};
  if (!held)
    return holder_starting{};
  return holder_alive{*held};
}

bool ask_to_stop(const std::filesystem::path& directory) {
  auto held = read_holding(directory);
  return held && send_signal(held->holder, SIGTERM);
}

std::size_t end_leftovers(const std::filesystem::path& directory) {
  auto held = read_holding(directory);
  if (!held || is_alive(held->holder))
    return 0;
  std::size_t killed = 0;
  folder_watch group{held->cgroup};
  // Children may be born while we look, and the dying stay in the group until they are reaped; ten
  // rounds end any tree that is not a fork bomb.
  for (auto round = 0; round < 10; ++round) {
    auto left = find_leftovers(*held);
    for (const auto& process : left)
      killed += send_signal(process, SIGKILL) ? 1 : 0;
    if (left.empty() && remove_group(held->cgroup))
      break;
    for (const auto& process : left)
      wait_for_end(process, end_patience); // SIGKILL takes effect when it is next scheduled.
    if (left.empty())
      group.wait(end_patience);
  }
  return killed;
}

std::vector<pid_t> process_tree(const holding& held) {
  std::vector<pid_t> result;
  for (const auto& process : descendants(all_processes(), held.holder.pid))
    result.push_back(process.pid);
  return result;
}

} // namespace assay::agent
