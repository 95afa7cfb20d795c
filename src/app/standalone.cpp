#include "src/app/standalone.hpp"

#include "src/base/log.hpp"
#include "src/store/private_files.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>

namespace assay::app {

namespace {

namespace json = boost::json;

constexpr auto key_line = "export OPENAI_API_KEY=";

unexpected<problem> failed(const std::filesystem::path& path, const std::string& what) {
  return unexpected{
    problem{problem_kind::unavailable, what, path.string(), "check permissions and free space"}};
}

std::filesystem::path agent_program() {
  std::error_code unreadable; // Then the name alone is tried, by the working directory.
  return std::filesystem::read_symlink("/proc/self/exe", unreadable).parent_path() / "assay-agent";
}

std::filesystem::path agent_log(const std::filesystem::path& data) {
  return data / "agent" / "agent.log";
}

/// Starts a program in a session of its own, with both outputs appended to `log`.
result<pid_t, problem>
spawn(const std::vector<std::string>& words, const std::filesystem::path& log) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(
    &files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600
  );
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  // The child outlives us: with our listening sockets in its hands, their ports would stay taken
  // and whoever dials them would wait for ever.
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  // We ignore SIGCHLD so that the agent leaves no zombie; the agent itself must not.
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGCHLD);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&how, &defaults);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setflags(
    &how, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
  );
  std::vector<char*> argv;
  for (const auto& word : words)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  auto why = posix_spawn(&pid, argv[0], &files, &how, argv.data(), environ);
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  if (why != 0)
    return failed(words[0], std::string{"cannot be started: "} + std::strerror(why));
  return pid;
}

} // namespace

result<fabric::key_pair, problem>
prepare_agent_keys(const std::filesystem::path& data, const fabric::public_key& coordinator) {
  auto keys = data / "agent" / "keys";
  std::error_code why;
  std::filesystem::create_directories(keys, why);
  if (why)
    return failed(keys, "cannot be made: " + why.message());
  std::filesystem::permissions(keys, std::filesystem::perms::owner_all, why);
  auto pair = fabric::read_or_make_key_pair(keys, "agent");
  if (!pair)
    return pair;
  if (auto done =
        store::write_private_file(keys / "coordinator.pub", fabric::to_text(coordinator) + "\n");
      !done)
    return unexpected{done.error()};
  return pair;
}

result<void, problem> write_endpoints(const std::filesystem::path& data, const endpoints& where) {
  json::object document{
    {"ingress", where.ingress},
    {"monitor", where.monitor},
    {"agents", where.agents},
    {"admin", where.admin}};
  return store::write_private_file(
    data / "run" / "endpoints.json", json::serialize(document) + "\n"
  );
}

std::optional<endpoints> read_endpoints(const std::filesystem::path& data) {
  std::ifstream in{data / "run" / "endpoints.json"};
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  boost::system::error_code bad;
  auto parsed = json::parse(text, bad);
  if (bad || !parsed.is_object())
    return {};
  auto at = [&](std::string_view key) {
    const auto* value = parsed.get_object().if_contains(key);
    return value && value->is_string() ? std::string{value->get_string()} : std::string{};
  };
  return endpoints{at("ingress"), at("monitor"), at("agents"), at("admin")};
}

result<void, problem> stop_agent(const std::filesystem::path& data) {
  auto pid = spawn({agent_program().string(), "stop", "--data", data.string()}, agent_log(data));
  if (!pid)
    return unexpected{pid.error()};
  int status = 0; // That none ran is as good as that it ended.
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  return {};
}

result<pid_t, problem> start_agent(
  const std::filesystem::path& data,
  const std::string& coordinator,
  const std::vector<std::string>& runtime_path
) {
  std::vector<std::string> words{
    agent_program().string(),
    "run",
    "--data",
    data.string(),
    "--host",
    std::string{local_host_name},
    "--coordinator",
    coordinator,
    "--monitor",
    "off"};
  for (const auto& folder : runtime_path) {
    words.push_back("--path");
    words.push_back(folder);
  }
  auto pid = spawn(words, agent_log(data));
  if (pid)
    log::info("agent_started", {{"pid", std::to_string(*pid)}, {"log", agent_log(data).string()}});
  return pid;
}

result<std::string, problem> read_tryout_key(const std::filesystem::path& data) {
  auto path = data / "run" / "env";
  if (!std::filesystem::exists(path))
    return unexpected{problem{
      problem_kind::not_found,
      "there is no key '" + std::string{tryout_key_name} + "' yet",
      path.string(),
      "apply a file with `key: tryout` (deploy/tryout/catalog.yaml has one)"}};
  auto text = store::read_private_file(path);
  if (!text)
    return text;
  auto at = text->find(key_line);
  if (at == std::string::npos)
    return failed(path, "holds no key");
  auto begin = at + std::strlen(key_line);
  return text->substr(begin, text->find('\n', begin) - begin);
}

result<void, problem>
write_env(const std::filesystem::path& data, const std::string& base_url, const std::string& key) {
  return store::write_private_file(
    data / "run" / "env", "export OPENAI_BASE_URL=" + base_url + "\n" + key_line + key + "\n"
  );
}

} // namespace assay::app
