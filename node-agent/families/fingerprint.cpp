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

/// The folder of a Python virtual environment that `program` lies in; empty when in none.
fs::path virtual_environment(const fs::path& program) {
  std::error_code none;
  auto folder = program.parent_path().parent_path();
  return fs::exists(folder / "pyvenv.cfg", none) ? folder : fs::path{};
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

std::optional<problem> add_virtual_environment(
  environment_reader& reader, const fs::path& folder, const fs::path& program
) {
  if (auto wrong = reader.add_folder(folder / "lib", "lib/"))
    return wrong;
  std::error_code error;
  auto size = fs::file_size(program, error);
  if (!error && !fs::is_symlink(program, error) && size <= launcher_bytes) {
    auto text = read_small_file(program);
    if (!text)
      return environment_problem(program, errno);
    // Its first line names the environment's folder, which may differ from host to host.
    reader.add_text("launcher", without(std::move(*text), folder.native()));
  }
  return reader.add_file("interpreter", folder / "bin/python3");
}

std::optional<problem> add_program(environment_reader& reader, const fs::path& program) {
  if (auto wrong = reader.add_file("program", program))
    return wrong;
  std::error_code error;
  std::set<fs::path> libraries;
  auto folder = fs::canonical(program, error).parent_path();
  // A program in /usr/bin has no libraries of its own beside it.
  for (fs::directory_iterator entry{folder, error}, end; !error && entry != end;
       entry.increment(error))
    if (entry->path().filename().native().find(".so") != std::string::npos)
      libraries.insert(entry->path());
  for (const auto& library : libraries)
    if (auto wrong = reader.add_file(library.filename().native(), library))
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

result<digest, problem> environment_digest(const fs::path& program, digest_cache& cache) {
  environment_reader reader{cache};
  auto folder = virtual_environment(program);
  auto wrong = folder.empty() ? add_program(reader, program)
                              : add_virtual_environment(reader, folder, program);
  if (wrong)
    return unexpected{*wrong};
  return reader.finish();
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
