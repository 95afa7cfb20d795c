#include "node-agent/host/cgroup.hpp"

#include "node-agent/host/process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <sstream>

namespace assay::agent {

namespace {

bool lists(std::string_view words, std::string_view wanted) {
  std::istringstream each{std::string{words}};
  for (std::string word; std::getline(each, word, ',');)
    if (word == wanted)
      return true;
  return false;
}

struct mount {
  std::string root; ///< The part of the hierarchy that is mounted.
  std::string point;
};

/// The mount of a v1 controller, or of cgroup2 when `controller` is empty.
std::optional<mount> find_mount(std::string_view mounts, std::string_view controller) {
  std::istringstream lines{std::string{mounts}};
  for (std::string line; std::getline(lines, line);) {
    // id parent major:minor root point options [optional...] - type source super-options
    auto dash = line.find(" - ");
    if (dash == std::string::npos)
      continue;
    std::istringstream before{line.substr(0, dash)};
    std::istringstream after{line.substr(dash + 3)};
    std::string id, parent, device, type, source, options;
    mount result;
    before >> id >> parent >> device >> result.root >> result.point;
    after >> type >> source >> options;
    if (controller.empty() ? type == "cgroup2" : type == "cgroup" && lists(options, controller))
      return result;
  }
  return {};
}

std::filesystem::path below(const mount& where, std::string_view path) {
  // In a container the mount shows a part of the tree, and our path may begin with that part.
  if (where.root != "/" && path.starts_with(where.root))
    path.remove_prefix(where.root.size());
  while (path.starts_with('/'))
    path.remove_prefix(1);
  return std::filesystem::path{where.point} / path;
}

/// The path of our group in the hierarchy of `controller` (v1), or in v2 when it is empty.
std::optional<std::string> own_path(std::string_view cgroups, std::string_view controller) {
  std::istringstream lines{std::string{cgroups}};
  for (std::string line; std::getline(lines, line);) {
    auto first = line.find(':');
    auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    auto controllers = std::string_view{line}.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : lists(controllers, controller))
      return line.substr(second + 1);
  }
  return {};
}

std::filesystem::path own_group(std::string_view controller) {
  auto cgroups = read_small_file("/proc/self/cgroup");
  auto mounts = read_small_file("/proc/self/mountinfo");
  return cgroups && mounts ? group_directory(*cgroups, *mounts, controller)
                           : std::filesystem::path{};
}

bool write_own_pid(const std::filesystem::path& file) {
  auto handle = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (handle < 0)
    return false;
  auto pid = std::to_string(::getpid());
  auto written = ::write(handle, pid.data(), pid.size());
  ::close(handle);
  return written == static_cast<ssize_t>(pid.size());
}

std::uint64_t count_after(std::string_view text, std::string_view word) {
  std::istringstream lines{std::string{text}};
  std::string name;
  std::uint64_t count = 0;
  while (lines >> name >> count)
    if (name == word)
      return count;
  return 0;
}

} // namespace

std::filesystem::path
group_directory(std::string_view cgroups, std::string_view mounts, std::string_view controller) {
  auto v1 = find_mount(mounts, controller);
  auto path = own_path(cgroups, controller);
  if (v1 && path)
    return below(*v1, *path);
  auto v2 = find_mount(mounts, "");
  path = own_path(cgroups, "");
  if (v2 && path)
    return below(*v2, *path);
  return {};
}

std::filesystem::path enter_new_group(const std::string& name) {
  // `pids` limits nothing unless told to, so a group there changes nothing for the runtime.
  auto own = own_group("pids");
  std::error_code error;
  if (own.empty() || !std::filesystem::exists(own / "cgroup.procs", error))
    return {};
  auto group = own / name;
  if (!std::filesystem::create_directory(group, error) && error)
    return {};
  if (write_own_pid(group / "cgroup.procs"))
    return group;
  ::rmdir(group.c_str());
  return {};
}

std::vector<pid_t> members(const std::filesystem::path& group) {
  std::vector<pid_t> result;
  if (group.empty())
    return result;
  if (auto text = read_small_file(group / "cgroup.procs")) {
    std::istringstream lines{*text};
    for (pid_t pid = 0; lines >> pid;)
      result.push_back(pid);
  }
  std::error_code gone;
  for (std::filesystem::directory_iterator entry{group, gone}, end; !gone && entry != end;
       entry.increment(gone))
    if (entry->is_directory(gone))
      for (auto pid : members(entry->path()))
        result.push_back(pid);
  return result;
}

bool remove_group(const std::filesystem::path& group) {
  if (group.empty())
    return true;
  std::error_code gone;
  for (std::filesystem::directory_iterator entry{group, gone}, end; !gone && entry != end;
       entry.increment(gone))
    if (entry->is_directory(gone))
      remove_group(entry->path());
  return ::rmdir(group.c_str()) == 0 || errno == ENOENT;
}

std::uint64_t oom_kills() {
  auto own = own_group("memory");
  if (own.empty())
    return 0;
  if (auto events = read_small_file(own / "memory.events"))
    return count_after(*events, "oom_kill");
  if (auto control = read_small_file(own / "memory.oom_control"))
    return count_after(*control, "oom_kill");
  return 0;
}

} // namespace assay::agent
