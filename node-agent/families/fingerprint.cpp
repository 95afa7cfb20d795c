#include "node-agent/families/fingerprint.hpp"

#include "node-agent/host/process.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <gnu/libc-version.h>
#include <set>
#include <sstream>

namespace assay::agent {

namespace {

namespace fs = std::filesystem;

constexpr auto fingerprint_domain = "assay-stack-fingerprint-1";
constexpr auto environment_domain = "assay-environment-1";
constexpr std::size_t launcher_bytes = 1 << 20; ///< A larger launcher is a binary.

problem environment_problem(const fs::path& path, int code) {
  return {
    problem_kind::unavailable,
    std::string{"the runtime's environment cannot be read: "} + std::strerror(code),
    path.native(),
    "check its owner, or install the runtime anew"};
}

std::string os_release(const fs::path& root) {
  auto text = read_small_file(root / "etc/os-release").value_or("");
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("PRETTY_NAME=")) {
      auto name = line.substr(12);
      std::erase(name, '"');
      return name;
    }
  return "unknown";
}

bool is_left_out(const fs::path& path) {
  return path.extension() == ".pyc" || path.filename() == "RECORD"
         || path.filename() == "__pycache__";
}

std::string without(std::string text, const std::string& part) {
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at))
    text.replace(at, part.size(), "${environment}");
  return text;
}

/// Adds files by relative name, size and digest, in the order of their names.
class environment_reader {
public:
  explicit environment_reader(digest_cache& cache) : cache_{cache} {}

  /// The stat comes first: a file that is as it was is not opened.
  std::optional<problem> add_file(const std::string& name, const fs::path& path) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0)
      return environment_problem(path, errno);
    auto sum = cache_.find(identity_of(facts));
    if (!sum) {
      auto file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (file < 0)
        return environment_problem(path, errno);
      auto read = digest_of_file(file, path.native(), cache_);
      ::close(file);
      if (!read)
        return read.error();
      sum = *read;
    }
    hasher_.add_field(name);
    hasher_.add_field(static_cast<std::uint64_t>(facts.st_size));
    hasher_.add_field(*sum);
    return {};
  }

  std::optional<problem> add_folder(const fs::path& folder, const std::string& prefix) {
    std::error_code error;
    std::set<fs::path> entries;
    for (fs::directory_iterator entry{folder, error}, end; !error && entry != end;
         entry.increment(error))
      entries.insert(entry->path());
    if (error)
      return environment_problem(folder, error.value());
    for (const auto& path : entries)
      if (!is_left_out(path))
        if (auto wrong = add_entry(path, prefix + path.filename().native()))
          return wrong;
    return {};
  }

  void add_text(const std::string& name, std::string_view text) {
    hasher_.add_field(name);
    hasher_.add_field(text);
  }

  digest finish() { return hasher_.finish(); }

private:
  std::optional<problem> add_entry(const fs::path& path, const std::string& name) {
    std::error_code error;
    auto kind = fs::symlink_status(path, error).type();
    if (kind == fs::file_type::directory)
      return add_folder(path, name + '/');
    if (kind == fs::file_type::regular || fs::is_regular_file(path, error))
      return add_file(name, path);
    // A link to a folder is not followed: it could lead in a circle.
    if (kind == fs::file_type::symlink)
      add_text(name, fs::read_symlink(path, error).filename().native());
    return {};
  }

  digest_cache& cache_;
  hasher hasher_{environment_domain};
};

/// A file that names the environment's own folder, which may differ from host to host.
std::optional<problem>
add_launcher(environment_reader& reader, const fs::path& path, const std::string& environment) {
  auto text = read_small_file(path);
  if (!text)
    return environment_problem(path, errno);
  reader.add_text(path.filename().native(), without(std::move(*text), environment));
  return {};
}

/// What the tools of the environment itself put there; they run nothing of ours.
bool is_tool(const std::string& name) {
  return name.starts_with("pip") || name.starts_with("activate") || name.starts_with("Activate");
}

std::optional<problem> add_virtual_environment(environment_reader& reader, const fs::path& folder) {
  if (auto wrong = reader.add_folder(folder / "lib", "lib/"))
    return wrong;
  if (auto wrong = reader.add_file("interpreter", folder / "bin/python3"))
    return wrong;
  std::error_code error;
  std::set<fs::path> launchers;
  for (fs::directory_iterator entry{folder / "bin", error}, end; !error && entry != end;
       entry.increment(error))
    if (!entry->is_symlink(error) && entry->is_regular_file(error)
        && entry->file_size(error) <= launcher_bytes
        && !is_tool(entry->path().filename().native()))
      launchers.insert(entry->path());
  for (const auto& path : launchers)
    if (auto wrong = add_launcher(reader, path, folder.native()))
      return wrong;
  return {};
}

std::string without_paths(const std::string& word) {
  auto equals = word.find('=');
  auto value = word.starts_with("--") && equals != std::string::npos ? equals + 1 : 0;
  return word.compare(value, 1, "/") == 0 ? word.substr(0, value) + "${path}" : word;
}

} // namespace

fabric::fingerprint make_fingerprint(stack_fields fields) {
  hasher sum{fingerprint_domain};
  for (const auto& [name, value] : fields)
    sum.add_field(name).add_field(value);
  return {sum.finish(), std::move(fields)};
}

stack_fields host_fields(const cpu_facts& facts, const fs::path& root) {
  struct utsname kernel {};
  ::uname(&kernel);
  hasher flags;
  for (const auto& flag : facts.flags)
    flags.add_field(flag);
  return {
    {"cpu.flags", to_text(flags.finish())},
    {"cpu.model", facts.model},
    {"kernel", std::string{kernel.release} + ' ' + kernel.machine},
    {"libc", std::string{"glibc "} + ::gnu_get_libc_version()},
    {"os", os_release(root)},
  };
}

result<digest, problem> environment_digest(const fs::path& folder, digest_cache& cache) {
  environment_reader reader{cache};
  std::error_code none;
  auto above = folder.parent_path();
  auto wrong = fs::exists(above / "pyvenv.cfg", none) ? add_virtual_environment(reader, above)
                                                      : reader.add_folder(folder, "");
  if (wrong)
    return unexpected{*wrong};
  return reader.finish();
}

host_stack::host_stack(std::vector<fs::path> runtime_folders, digest_cache& cache)
  : folders_{std::move(runtime_folders)}, cache_{cache} {}

fabric::fingerprint host_stack::collect() {
  stack_fields fields;
  if (auto facts = discover_cpu())
    fields = host_fields(*facts);
  std::set<std::string> environments; // Sorted, so that the order of `path` does not matter.
  for (const auto& folder : folders_) {
    auto sum = environment_digest(folder, cache_);
    // A runtime that cannot be read is another stack than one that can.
    environments.insert(sum ? to_text(*sum) : "unreadable: " + sum.error().what);
  }
  std::string all;
  for (const auto& environment : environments)
    all += (all.empty() ? "" : " ") + environment;
  fields["runtimes"] = all.empty() ? "none" : all;
  std::lock_guard guard{mutex_};
  own_ = std::move(fields);
  return whole();
}

fabric::fingerprint host_stack::learn(catalog::family family, const stack_fields& fields) {
  std::lock_guard guard{mutex_};
  families_[family] = fields;
  return whole();
}

/// Under the lock.
fabric::fingerprint host_stack::whole() {
  auto fields = own_;
  for (const auto& [family, more] : families_)
    fields.insert(more.begin(), more.end());
  newest_ = make_fingerprint(std::move(fields));
  return newest_;
}

fabric::fingerprint host_stack::current() const {
  std::lock_guard guard{mutex_};
  return newest_;
}

std::string
launch_text(const catalog::runtime_profile& profile, const catalog::slot_values& slots) {
  // What differs from host to host or start to start is replaced by its own name.
  static constexpr std::array named{
    "host", "artifact_dir", "artifact_file", "cache_dir", "devices"};
  auto neutral = slots;
  for (const auto* slot : named)
    if (neutral.system.contains(slot))
      neutral.system[slot] = std::string{"${"} + slot + '}';
  for (const auto& port : profile.ports)
    neutral.system[port.slot] = "${" + port.slot + '}';
  neutral.system["port"] = "${port}";
  auto command = catalog::compose_command(profile, neutral);
  if (!command)
    return to_text(command.error());
  std::string text;
  for (const auto& word : command->argv)
    text += without_paths(word) + ' ';
  for (const auto& [name, value] : command->env)
    text += name + '=' + without_paths(value) + ' ';
  return text;
}

std::string difference(const stack_fields& before, const stack_fields& after) {
  std::string text;
  auto tell = [&](const std::string& name, const std::string& old, const std::string& now) {
    text += (text.empty() ? "" : ", ") + name + ' ' + old + " -> " + now;
  };
  for (const auto& [name, value] : before) {
    auto now = after.find(name);
    if (now == after.end() || now->second != value)
      tell(name, value, now == after.end() ? "(none)" : now->second);
  }
  for (const auto& [name, value] : after)
    if (!before.contains(name))
      tell(name, "(none)", value);
  return text;
}

} // namespace assay::agent
