#include "node-agent/families/cpu.hpp"

#include "node-agent/host/cgroup.hpp"
#include "node-agent/host/process.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <iterator>
#include <optional>
#include <sstream>

namespace assay::agent {

namespace {

using telemetry::reading;
using telemetry::sample;
using telemetry::sample_kind;

/// A file's text, or the state that its absence means.
struct file_text {
  std::string text;
  std::optional<reading> missing;
};

file_text read_or_say_why(const std::filesystem::path& path) {
  if (auto text = read_small_file(path))
    return {std::move(*text), {}};
  auto code = errno;
  if (code == ENOENT || code == ENOTDIR)
    return {{}, telemetry::unsupported{}};
  if (code == EACCES || code == EPERM || code == EOPNOTSUPP)
    return {{}, telemetry::unavailable{std::strerror(code)}};
  return {{}, telemetry::failed{code, std::strerror(code)}};
}

template <class Number>
std::optional<Number> number_from(std::string_view text) {
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{})
    return {};
  return value;
}

template <class Number>
reading read_number(std::string_view text) {
  auto value = number_from<Number>(text);
  return value ? reading{*value} : reading{telemetry::failed{0, "not a number"}};
}

/// The number after `word` on the line that begins with it; `memory.max` says `max` for no limit.
reading read_after(std::string_view text, std::string_view word) {
  std::istringstream lines{std::string{text}};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields{line};
    std::string name, value;
    if (fields >> name >> value && (name == word || name == std::string{word} + ':'))
      return read_number<std::uint64_t>(value);
  }
  return telemetry::unsupported{};
}

reading read_whole(std::string_view text) {
  while (text.ends_with('\n'))
    text.remove_suffix(1);
  if (text == "max")
    return std::string{text};
  return read_number<std::uint64_t>(text);
}

/// Collects samples that share a host and an instant.
class sampler {
public:
  sampler(wall_ms now, std::filesystem::path root) : now_{now}, root_{std::move(root)} {}

  std::vector<sample> take() {
    processor_time();
    memory();
    for (const auto* resource : {"cpu", "memory", "io"})
      pressure(resource);
    load();
    groups();
    energy();
    nodes();
    return std::move(samples_);
  }

private:
  void
  add(std::string name, std::string unit, sample_kind kind, reading r, std::string device = {}) {
    samples_.push_back(
      {"cpu", std::move(name), std::move(unit), kind, std::move(device), std::move(r), now_}
    );
  }

  /// `parse` is called only when the file was read.
  template <class Parse>
  static reading from(const file_text& file, Parse parse) {
    return file.missing ? *file.missing : parse(file.text);
  }

  void processor_time() {
    static constexpr std::array columns{
      "user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"};
    auto file = read_or_say_why(root_ / "proc/stat");
    std::istringstream fields{file.text};
    std::string word;
    fields >> word;
    for (const auto* column : columns) {
      std::string value;
      fields >> value;
      add(
        std::string{"/proc/stat:cpu."} + column,
        "USER_HZ",
        sample_kind::counter,
        from(file, [&](const auto&) { return read_number<std::uint64_t>(value); })
      );
    }
  }

  void memory() {
    auto file = read_or_say_why(root_ / "proc/meminfo");
    for (const auto* name : {"MemTotal", "MemAvailable", "SwapFree"})
      add(name, "kB", sample_kind::gauge, from(file, [&](const auto& text) {
            return read_after(text, name);
          }));
  }

  void pressure(const std::string& resource) {
    auto file = read_or_say_why(root_ / "proc/pressure" / resource);
    for (const auto* share : {"some", "full"}) {
      auto name = "/proc/pressure/" + resource + ':' + share;
      add(name + ".avg10", "%", sample_kind::gauge, from(file, [&](const auto& text) {
            return pressure_field<double>(text, share, "avg10=");
          }));
      add(name + ".total", "us", sample_kind::counter, from(file, [&](const auto& text) {
            return pressure_field<std::uint64_t>(text, share, "total=");
          }));
    }
  }

  template <class Number>
  static reading
  pressure_field(const std::string& text, std::string_view share, std::string_view field) {
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
      auto at = line.find(field);
      if (line.starts_with(share) && at != std::string::npos)
        return read_number<Number>(std::string_view{line}.substr(at + field.size()));
    }
    return telemetry::unsupported{}; // `full` of cpu on older kernels.
  }

  void load() {
    auto file = read_or_say_why(root_ / "proc/loadavg");
    add("/proc/loadavg:1min", "1", sample_kind::gauge, from(file, [](const auto& text) {
          return read_number<double>(text);
        }));
  }

  std::filesystem::path group(std::string_view controller) const {
    auto cgroups = read_small_file(root_ / "proc/self/cgroup");
    auto mounts = read_small_file(root_ / "proc/self/mountinfo");
    if (!cgroups || !mounts)
      return {};
    auto found = group_directory(*cgroups, *mounts, controller);
    return found.empty() ? found : root_ / found.relative_path();
  }

  void groups() {
    std::error_code none;
    auto processor = group("cpu");
    auto v2 = !processor.empty() && std::filesystem::exists(processor / "cgroup.controllers", none);
    v2 ? groups_v2() : groups_v1();
    auto pids = group("pids");
    for (const auto* name : {"pids.current", "pids.max"})
      add(name, "1", sample_kind::gauge, from(read_group(pids, name), read_whole));
  }

  static file_text read_group(const std::filesystem::path& group, std::string_view name) {
    return group.empty() ? file_text{{}, telemetry::unsupported{}} : read_or_say_why(group / name);
  }

  void groups_v2() {
    auto processor = read_group(group("cpu"), "cpu.stat");
    for (const auto& [name, unit] :
         {std::pair{"usage_usec", "us"}, {"nr_throttled", "1"}, {"throttled_usec", "us"}})
      add(
        std::string{"cpu.stat:"} + name,
        unit,
        sample_kind::counter,
        from(processor, [&](const auto& text) { return read_after(text, name); })
      );
    auto memory = group("memory");
    for (const auto* name : {"memory.current", "memory.max"})
      add(name, "bytes", sample_kind::gauge, from(read_group(memory, name), read_whole));
    add(
      "memory.events:oom_kill",
      "1",
      sample_kind::counter,
      from(
        read_group(memory, "memory.events"),
        [](const auto& text) { return read_after(text, "oom_kill"); }
      )
    );
  }

  void groups_v1() {
    auto processor = read_group(group("cpu"), "cpu.stat");
    for (const auto& [name, unit] : {std::pair{"nr_throttled", "1"}, {"throttled_time", "ns"}})
      add(
        std::string{"cpu.stat:"} + name,
        unit,
        sample_kind::counter,
        from(processor, [&](const auto& text) { return read_after(text, name); })
      );
    auto memory = group("memory");
    for (const auto* name : {"memory.usage_in_bytes", "memory.limit_in_bytes"})
      add(name, "bytes", sample_kind::gauge, from(read_group(memory, name), read_whole));
    add(
      "memory.oom_control:oom_kill",
      "1",
      sample_kind::counter,
      from(
        read_group(memory, "memory.oom_control"),
        [](const auto& text) { return read_after(text, "oom_kill"); }
      )
    );
  }

  /// Packages only: `psys` contains them, and a package contains its children.
  void energy() {
    std::error_code none;
    auto zones = std::filesystem::directory_iterator{root_ / "sys/class/powercap", none};
    auto found = false;
    for (; !none && zones != std::filesystem::directory_iterator{}; zones.increment(none)) {
      auto name = read_small_file(zones->path() / "name");
      if (!name || !name->starts_with("package"))
        continue;
      found = true;
      name->erase(name->find_last_not_of('\n') + 1);
      add(
        "energy_uj",
        "uJ",
        sample_kind::counter,
        from(read_or_say_why(zones->path() / "energy_uj"), read_whole),
        *name
      );
    }
    if (!found)
      add("energy_uj", "uJ", sample_kind::counter, telemetry::unsupported{});
  }

  void nodes() {
    std::error_code none;
    auto folder = std::filesystem::directory_iterator{root_ / "sys/devices/system/node", none};
    for (; !none && folder != std::filesystem::directory_iterator{}; folder.increment(none)) {
      auto node = folder->path().filename().native();
      if (!node.starts_with("node") || node.size() == 4)
        continue;
      auto file = read_or_say_why(folder->path() / "meminfo");
      add("MemFree", "kB", sample_kind::gauge, from(file, node_free), node);
    }
  }

  /// `Node 0 MemFree:  123 kB`
  static reading node_free(const std::string& text) {
    auto at = text.find("MemFree:");
    if (at == std::string::npos)
      return telemetry::unsupported{};
    auto digits = text.find_first_of("0123456789", at);
    return digits == std::string::npos ? reading{telemetry::failed{0, "not a number"}}
                                       : read_number<std::uint64_t>(text.substr(digits));
  }

  wall_ms now_;
  std::filesystem::path root_;
  std::vector<sample> samples_;
};

/// The text after `KEY :` in /proc/cpuinfo; ARM has other keys than x86.
std::string cpuinfo_value(const std::string& text, std::initializer_list<std::string_view> keys) {
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);)
    for (auto key : keys) {
      auto colon = line.find(": ");
      if (line.starts_with(key) && colon != std::string::npos)
        return line.substr(colon + 2);
    }
  return {};
}

std::vector<std::string> sorted_words(const std::string& text) {
  std::istringstream each{text};
  std::vector<std::string> result{std::istream_iterator<std::string>{each}, {}};
  std::sort(result.begin(), result.end());
  return result;
}

std::uint32_t cpus_allowed() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (::sched_getaffinity(0, sizeof mask, &mask) == 0)
    return static_cast<std::uint32_t>(CPU_COUNT(&mask));
  auto online = ::sysconf(_SC_NPROCESSORS_ONLN); // More than 1024 CPUs: the mask is too small.
  return online > 0 ? static_cast<std::uint32_t>(online) : 0;
}

/// The least limit from our group up to the root of the hierarchy.
std::uint64_t memory_limit(const std::filesystem::path& root, std::uint64_t host_bytes) {
  auto cgroups = read_small_file(root / "proc/self/cgroup");
  auto mounts = read_small_file(root / "proc/self/mountinfo");
  if (!cgroups || !mounts)
    return host_bytes;
  auto group = group_directory(*cgroups, *mounts, "memory");
  auto least = host_bytes;
  for (auto place = root / group.relative_path(); place.has_relative_path() && place != root;
       place = place.parent_path())
    for (const auto* name : {"memory.max", "memory.limit_in_bytes"})
      if (auto text = read_small_file(place / name))
        if (auto limit = number_from<std::uint64_t>(*text))
          least = std::min(least, *limit);
  return least;
}

std::vector<numa_node> find_nodes(const std::filesystem::path& root) {
  std::vector<numa_node> result;
  std::error_code none;
  auto folder = std::filesystem::directory_iterator{root / "sys/devices/system/node", none};
  for (; !none && folder != std::filesystem::directory_iterator{}; folder.increment(none))
    if (auto cpus = read_small_file(folder->path() / "cpulist")) {
      cpus->erase(cpus->find_last_not_of('\n') + 1);
      result.push_back({folder->path().filename().native(), *cpus});
    }
  std::sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return result;
}

} // namespace

result<cpu_facts, problem> discover_cpu(const std::filesystem::path& root) {
  cpu_facts facts;
  facts.cpus = cpus_allowed();
  if (facts.cpus == 0)
    return unexpected{problem{
      problem_kind::unavailable,
      "the affinity mask of this process is empty",
      "cpu",
      "start the agent with at least one CPU (taskset, cpuset, Slurm's --cpus-per-task)"}};
  auto memory = read_small_file(root / "proc/meminfo");
  auto total = memory ? read_after(*memory, "MemTotal") : reading{telemetry::unsupported{}};
  const auto* total_kb = std::get_if<std::uint64_t>(&total);
  if (!total_kb)
    return unexpected{problem{
      problem_kind::unavailable,
      "the host's memory is not known",
      (root / "proc/meminfo").native(),
      "mount /proc"}};
  facts.memory_bytes = memory_limit(root, *total_kb * 1024);
  auto processor = read_small_file(root / "proc/cpuinfo").value_or("");
  facts.model = cpuinfo_value(processor, {"model name", "Model", "CPU part"});
  facts.flags = sorted_words(cpuinfo_value(processor, {"flags", "Features"}));
  facts.nodes = find_nodes(root);
  return facts;
}

std::vector<telemetry::sample> sample_cpu(wall_ms now, const std::filesystem::path& root) {
  return sampler{now, root}.take();
}

} // namespace assay::agent
