#include "node-agent/runtime/launch_plan.hpp"

#include "src/base/check.hpp"
#include "src/base/limits.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace assay::agent {

namespace {

namespace fs = std::filesystem;

/// What a runtime sees of the agent's environment; everything else would make two hosts differ in
/// ways that no fingerprint shows.
constexpr std::array inherited_names{"HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER"};
constexpr auto default_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string joined(const std::vector<std::string>& words, char separator) {
  std::string result;
  for (const auto& word : words)
    result += (result.empty() ? "" : std::string{separator}) + word;
  return result;
}

/// The file that an engine is pointed at: the only GGUF or ONNX file, the first of its parts, or
/// the first file of all.
std::string main_file(const fabric::artifact_manifest& artifact) {
  for (const auto* ending : {".gguf", ".onnx", ".engine", ".neff"})
    for (const auto& file : artifact.files)
      if (file.path.ends_with(ending))
        return file.path;
  return artifact.files.empty() ? std::string{} : artifact.files.front().path;
}

void set_number(std::map<std::string, std::string>& slots, const char* slot, std::uint32_t value) {
  if (value != 0)
    slots[slot] = std::to_string(value);
}

std::vector<fs::path> search_folders(const launch_place& place) {
  auto folders = place.path;
  auto path = place.inherited.find("PATH");
  std::string rest = path == place.inherited.end() ? default_path : path->second;
  for (std::size_t begin = 0; begin <= rest.size();) {
    auto end = std::min(rest.find(':', begin), rest.size());
    if (end > begin)
      folders.emplace_back(rest.substr(begin, end - begin));
    begin = end + 1;
  }
  return folders;
}

bool is_program(const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(path, none) && ::access(path.c_str(), X_OK) == 0;
}

std::map<std::string, std::string>
environment_of(const catalog::command& command, const launch_place& place) {
  std::map<std::string, std::string> env;
  for (const auto* name : inherited_names)
    if (auto found = place.inherited.find(name); found != place.inherited.end())
      env[name] = found->second;
  std::vector<std::string> folders;
  for (const auto& folder : search_folders(place))
    folders.push_back(folder.native());
  env["PATH"] = joined(folders, ':');
  for (const auto& [name, value] : command.env)
    env[name] = value;
  // After the profile's own: no profile gives a replica a device that it was not given.
  for (const auto& [name, value] : place.devices.variables)
    env[name] = value;
  for (const auto& [variable, slot] : command.secret_env)
    env[variable] = place.secret;
  return env;
}

} // namespace

catalog::slot_values slots_of(const fabric::start_replica& order, const launch_place& place) {
  catalog::slot_values slots;
  auto& system = slots.system;
  fs::path directory{order.artifact.location};
  system["artifact_dir"] = directory.native();
  if (auto file = main_file(order.artifact); !file.empty())
    system["artifact_file"] = (directory / file).native();
  system["host"] = place.address;
  system["port"] = std::to_string(place.port);
  system["served_name"] = catalog::served_name(order.model);
  system["cache_dir"] = place.cache_directory.native();
  set_number(system, "slots", order.slots);
  set_number(system, "context_tokens", order.limits.context_tokens);
  set_number(system, "output_tokens", order.limits.output_tokens);
  if (!order.devices.empty())
    system["devices"] = place.devices.mask;
  slots.args = order.args;
  return slots;
}

result<fs::path, problem> find_program(const std::string& name, const launch_place& place) {
  if (name.find('/') != std::string::npos) {
    if (is_program(name))
      return fs::path{name};
    return unexpected{problem{
      problem_kind::not_found,
      "the profile's program is not there, or may not be run",
      name,
      "install the runtime on this host, or correct the profile's argv"}};
  }
  auto folders = search_folders(place);
  for (const auto& folder : folders)
    if (is_program(folder / name))
      return folder / name;
  return unexpected{problem{
    problem_kind::not_found,
    "the program '" + name + "' is in none of " + std::to_string(folders.size()) + " folders",
    "path",
    "install the runtime on this host, or name its folder under `path:` in the agent's "
    "configuration"}};
}

result<launch_order, problem> plan_launch(
  const catalog::runtime_profile& profile,
  const fabric::start_replica& order,
  const launch_place& place
) {
  if (!profile.launch)
    return unexpected{problem{
      problem_kind::refused,
      "the runtime profile '" + profile.id.value + "' has no `launch`: its servers are adopted",
      order.implementation.value,
      "start the server yourself and use `assay-agent adopt`, or name another profile"}};
  auto slots = slots_of(order, place);
  for (const auto& port : profile.ports)
    if (auto own = place.more_ports.find(port.slot); own != place.more_ports.end())
      slots.system[port.slot] = std::to_string(own->second);
  auto command = catalog::compose_command(profile, slots);
  if (!command)
    return unexpected{command.error()};
  auto program = find_program(command->argv.front(), place);
  if (!program)
    return unexpected{program.error()};
  launch_order result;
  result.argv = command->argv;
  result.argv.front() = program->native();
  result.env = environment_of(*command, place);
  result.stop_signal = catalog::signal_number(profile.stop.signal);
  result.stop_grace = profile.stop.grace;
  result.stop_group = profile.stop.group;
  result.log_bytes = limits::log_bytes;
  return result;
}

std::string make_secret() {
  std::array<unsigned char, 32> chance{};
  auto got = ::getrandom(chance.data(), chance.size(), 0);
  check(got == static_cast<ssize_t>(chance.size()), "getrandom gives 32 bytes");
  static constexpr auto digits = "0123456789abcdef";
  std::string text;
  for (auto byte : chance) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

} // namespace assay::agent
