// The agent with a real engine: llama.cpp's server and a small model, a hub in place of assayd.
//
// Everything is real but the coordinator's decisions: processes, ports, CURVE, HTTP, kill -9. Each
// test has an agent and folders of its own, and leaves no process behind.

#include "node-agent/host/process.hpp"
#include "node-agent/program/agent_lock.hpp"
#include "node-agent/runtime/holder_files.hpp"
#include "node-agent/runtime/life.hpp"
#include "node-agent/runtime/replica.hpp"
#include "src/fabric/curve_keys.hpp"
#include "src/fabric/hub.hpp"
#include "src/http/client.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <mutex>

namespace assay::agent {

namespace {

using namespace std::chrono_literals;
using fabric::replica_phase;

const auto host = host_id{"n1"};

/// Where the runtime is, and the model's file; installed once for all tests.
struct engine {
  std::filesystem::path folder;
  std::filesystem::path model;
};

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file{path};
  std::string line;
  std::getline(file, line);
  return line;
}

const engine& installed_engine() {
  static const auto found = [] {
    engine result;
    result.folder = std::filesystem::path{ASSAY_RUNTIMES_FOLDER} / "llama";
    auto said = std::filesystem::path{ASSAY_RUNTIMES_FOLDER} / "llama.path";
    std::filesystem::create_directories(ASSAY_RUNTIMES_FOLDER);
    auto command = std::string{ASSAY_SOURCE_DIR} + "/deploy/runtimes/install-llama '"
                   + result.folder.native() + "' > '" + said.native() + "'";
    if (std::system(command.c_str()) == 0)
      result.model = first_line(said);
    return result;
  }();
  if (found.model.empty())
    SKIP("the real runtime could not be installed: see deploy/runtimes/install-llama's reason above"
    );
  return found;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

digest file_digest(const std::filesystem::path& path) {
  digest_cache cache{""};
  auto file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(file >= 0);
  auto sum = digest_of_file(file, path.native(), cache);
  ::close(file);
  REQUIRE(sum);
  return **sum;
}

/// A hub that remembers what the agent said, and an agent program that can be killed and started.
class cluster {
public:
  /// `runtimes` is the one entry of the agent's `path`; empty for the engine that all tests share.
  explicit cluster(std::filesystem::path runtimes = {}) : runtimes_{std::move(runtimes)} {
    if (runtimes_.empty())
      runtimes_ = installed_engine().folder / "bin";
    auto keys = fabric::new_key_pair();
    auto agent_keys = fabric::new_key_pair();
    std::filesystem::create_directories(data_.path() / "agent/keys");
    REQUIRE(fabric::write_key_pair(data_.path() / "agent/keys", "agent", agent_keys));
    data_.write("agent/keys/coordinator.pub", fabric::to_text(keys.shared) + "\n");
    fabric::hub_options options;
    options.keys = keys;
    options.allow_list = {{agent_keys.shared, host, fabric::role::agent}};
    options.standing.epoch = 1;
    fabric::hub_events events;
    events.peer_up = [this](const host_id&, const fabric::hello&) { count_session(); };
    events.message = [this](const host_id&, fabric::agent_message m) { remember(std::move(m)); };
    events.peer_down = [](const host_id&, fabric::down_reason) {};
    events.join = [](const fabric::join_request&) {};
    auto started = fabric::hub::start(std::move(options), std::move(events));
    REQUIRE(started);
    hub_ = std::move(*started);
    start_agent();
  }

  ~cluster() {
    stop_agent(SIGUSR1);
    // Whatever a failed test left: by the mark in its environment, never by name.
    for (const auto& directory : replica_folders())
      if (auto held = read_holding(directory)) {
        send_signal(held->holder, SIGKILL);
        test::eventually([&] { return !is_alive(held->holder); });
        end_leftovers(directory);
      }
  }

  void start_agent() {
    auto before = sessions();
    std::vector<std::string> words{
      "assay-agent",
      "run",
      "--data",
      data_.path().native(),
      "--coordinator",
      hub_->address(),
      "--path",
      runtimes_.native(),
      "--host",
      "n1"};
    std::vector<char*> argv;
    for (auto& word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    auto log = (data_.path() / "agent.log").native();
    ::posix_spawn_file_actions_addopen(
      &actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600
    );
    auto code =
      ::posix_spawn(&agent_, ASSAY_AGENT_PROGRAM, &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    REQUIRE(code == 0);
    REQUIRE(test::eventually([&] { return sessions() > before; }));
  }

  /// Returns the exit status as waitpid gives it.
  int stop_agent(int signal) {
    if (agent_ == 0)
      return 0;
    int status = 0;
    ::kill(agent_, signal);
    ::waitpid(std::exchange(agent_, 0), &status, 0);
    return status;
  }

  void start_replica(std::uint64_t generation, const std::string& model = {}) {
    fabric::start_replica command;
    command.epoch = 1;
    command.replica = {"chat/local/q4/1@n1"};
    command.implementation = {"chat/local/q4"};
    command.model = {"chat"};
    command.generation = generation;
    command.profile = {"llama-server"};
    command.profile_text =
      read_file(std::string{ASSAY_SOURCE_DIR} + "/deploy/runtimes/llama-server.yaml");
    std::filesystem::path file = model.empty() ? installed_engine().model.native() : model;
    command.artifact.id = {"chat/q4"};
    command.artifact.location = file.parent_path();
    command.artifact.files = {
      {file.filename().native(), std::filesystem::file_size(file), file_digest(file)}};
    command.slots = 2;
    hub_->send(host, command);
  }

  void stop_replica(std::uint64_t generation) {
    hub_->send(host, fabric::stop_replica{1, {"chat/local/q4/1@n1"}, generation, "test", 0ms});
  }

  void adopt(std::uint64_t generation, const std::string& url) {
    fabric::adopt_replica command;
    command.epoch = 1;
    command.replica = {"chat/local/q4/1@n1"};
    command.model = {"chat"};
    command.generation = generation;
    command.profile = {"http"};
    command.profile_text = read_file(std::string{ASSAY_SOURCE_DIR} + "/deploy/runtimes/http.yaml");
    command.url = url;
    hub_->send(host, command);
  }

  void forget(std::uint64_t generation) {
    hub_->send(
      host, fabric::stop_replica{1, {"chat/local/q4/1@n1"}, generation, "no longer watched"}
    );
  }

  std::optional<fabric::adopt_offer> offer() {
    std::lock_guard guard{mutex_};
    return offer_;
  }

  /// The newest report of a generation, once it has that phase.
  fabric::replica_report
  wait_for(std::uint64_t generation, replica_phase phase, std::chrono::seconds patience = 60s) {
    fabric::replica_report found;
    auto seen = test::eventually(
      [&] {
        std::lock_guard guard{mutex_};
        auto report = reports_.find(generation);
        if (report == reports_.end())
          return false;
        found = report->second;
        return found.phase == phase;
      },
      patience
    );
    INFO("last seen: " << life::name(found.phase) << ' ' << found.reason << '\n' << found.log_tail);
    REQUIRE(seen);
    return found;
  }

  fabric::inventory inventory() {
    std::lock_guard guard{mutex_};
    return inventory_;
  }
  std::size_t samples() {
    std::lock_guard guard{mutex_};
    return samples_;
  }
  void forget_reports() {
    std::lock_guard guard{mutex_};
    reports_.clear();
  }

  std::filesystem::path folder(std::uint64_t generation) const {
    return data_.path() / "agent/replicas" / folder_name({"chat/local/q4/1@n1"}, generation);
  }
  holding held(std::uint64_t generation) const {
    auto result = read_holding(folder(generation));
    REQUIRE(result);
    return *result;
  }
  const test::temp_folder& data() const { return data_; }

private:
  std::vector<std::filesystem::path> replica_folders() const {
    std::vector<std::filesystem::path> result;
    std::error_code none;
    for (const auto& entry :
         std::filesystem::directory_iterator{data_.path() / "agent/replicas", none})
      result.push_back(entry.path());
    return result;
  }

  void take(fabric::adopt_offer offered) {
    hub_->send(host, fabric::adopt_outcome{offered.number, {"chat/local/adopted-n1"}, {}, {}});
    offer_ = std::move(offered);
  }
  void count_session() {
    std::lock_guard guard{mutex_};
    ++sessions_;
  }
  int sessions() {
    std::lock_guard guard{mutex_};
    return sessions_;
  }
  void remember(fabric::agent_message message) {
    std::lock_guard guard{mutex_};
    if (auto* report = std::get_if<fabric::replica_report>(&message))
      reports_[report->generation] = std::move(*report);
    if (auto* found = std::get_if<fabric::inventory>(&message))
      inventory_ = std::move(*found);
    if (const auto* taken = std::get_if<fabric::native_samples>(&message))
      samples_ = taken->samples.size();
    if (auto* offered = std::get_if<fabric::adopt_offer>(&message))
      take(std::move(*offered));
  }

  test::temp_folder data_;
  std::filesystem::path runtimes_;
  std::mutex mutex_;
  int sessions_ = 0;
  std::map<std::uint64_t, fabric::replica_report> reports_;
  fabric::inventory inventory_;
  std::size_t samples_ = 0;
  std::optional<fabric::adopt_offer> offer_;
  std::unique_ptr<fabric::hub> hub_;
  pid_t agent_ = 0;
};

/// Runs a program and returns its pid.
pid_t run(std::vector<std::string> words, const std::string& program) {
  std::vector<char*> argv;
  for (auto& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (auto stream : {STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
  REQUIRE(::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ) == 0);
  ::posix_spawn_file_actions_destroy(&actions);
  return pid;
}

/// An OpenAI server that is not the agent's.
class foreign_server {
public:
  explicit foreign_server(bool started = true) {
    auto port = find_free_port({20'000, 29'999}, {});
    REQUIRE(port);
    port_ = *port;
    if (!started)
      return;
    auto program = (installed_engine().folder / "bin/llama-server").native();
    pid_ = run(
      {"llama-server",
       "--model",
       installed_engine().model.native(),
       "--port",
       std::to_string(port_),
       "--alias",
       "chat"},
      program
    );
  }
  ~foreign_server() {
    if (pid_ == 0)
      return;
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }

  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  bool is_running() const { return ::waitpid(pid_, nullptr, WNOHANG) == 0; }

  /// `assay-agent adopt`; its exit code.
  int offer_to(const std::filesystem::path& data) const {
    int status = 0;
    ::waitpid(
      run(
        {"assay-agent", "adopt", "--data", data.native(), "--url", url(), "--model", "chat"},
        ASSAY_AGENT_PROGRAM
      ),
      &status,
      0
    );
    return WEXITSTATUS(status);
  }

private:
  std::uint16_t port_ = 0;
  pid_t pid_ = 0;
};

int chat_status(const fabric::replica_report& replica, const std::string& secret) {
  http::client_request request;
  request.method = "POST";
  request.target = "/v1/chat/completions";
  request.headers = {{"Content-Type", "application/json"}, {"Authorization", "Bearer " + secret}};
  request.body =
    R"({"model":"chat","messages":[{"role":"user","content":"Say hello."}],"max_tokens":4})";
  auto answer = http::exchange({replica.address, replica.port, {}}, request);
  return answer ? answer->status : 0;
}

bool all_ended(const holding& held) {
  return test::eventually([&] { return !is_alive(held.holder) && !is_alive(held.runtime); });
}

} // namespace

TEST_CASE("a real engine is launched, proven, asked with its secret only, and stopped") {
  installed_engine();
  cluster c;
  c.start_replica(1);
  auto ready = c.wait_for(1, replica_phase::ready);
  CHECK(ready.address == "127.0.0.1");
  CHECK(ready.secret.size() == 64);
  CHECK(chat_status(ready, ready.secret) == 200);
  CHECK(chat_status(ready, "wrong") == 401);
  CHECK(c.samples() > 20);
  auto held = c.held(1);
  auto begun = std::chrono::steady_clock::now();
  c.stop_replica(1);
  auto gone = c.wait_for(1, replica_phase::gone);
  CHECK(std::chrono::steady_clock::now() - begun < 10s);
  CHECK(all_ended(held));
  CHECK(read_exit_record(c.folder(1))->code == 0);
}

TEST_CASE(
  "a runtime that is killed, and a holder that is killed, are failed replicas within a second"
) {
  installed_engine();
  cluster c;
  c.start_replica(1);
  c.wait_for(1, replica_phase::ready);
  auto first = c.held(1);
  send_signal(first.runtime, SIGKILL);
  auto killed = c.wait_for(1, replica_phase::failed);
  REQUIRE(killed.exit);
  CHECK(killed.exit->by_signal);
  CHECK(killed.exit->number == SIGKILL);
  CHECK(all_ended(first));

  c.start_replica(2);
  c.wait_for(2, replica_phase::ready);
  auto second = c.held(2);
  send_signal(second.holder, SIGKILL);
  auto lost = c.wait_for(2, replica_phase::failed);
  CHECK(lost.reason.find("the holder was killed") != std::string::npos);
  CHECK(all_ended(second));
}

TEST_CASE("a runtime survives its agent's kill -9 and orderly end, and is taken over each time") {
  installed_engine();
  cluster c;
  c.start_replica(1);
  auto before = c.wait_for(1, replica_phase::ready);
  auto held = c.held(1);
  for (auto signal : {SIGKILL, SIGTERM}) {
    c.stop_agent(signal);
    CHECK(is_alive(held.runtime));
    CHECK(chat_status(before, before.secret) == 200);
    c.forget_reports();
    c.start_agent();
    auto after = c.wait_for(1, replica_phase::ready);
    CHECK(after.port == before.port);
    CHECK(after.secret == before.secret);
    CHECK(c.held(1) == held);
  }
  // What died while no agent looked is reported by the next one, with its exit.
  c.stop_agent(SIGKILL);
  send_signal(held.runtime, SIGKILL);
  CHECK(all_ended(held));
  c.forget_reports();
  c.start_agent();
  CHECK(c.wait_for(1, replica_phase::failed).exit->number == SIGKILL);
}

TEST_CASE("an agent that is told to end with its replicas leaves no process") {
  installed_engine();
  cluster c;
  c.start_replica(1);
  c.wait_for(1, replica_phase::ready);
  auto held = c.held(1);
  auto status = c.stop_agent(SIGUSR1);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK_FALSE(is_alive(held.holder));
  CHECK_FALSE(is_alive(held.runtime));
  CHECK(marked_with(hold_mark(held.holder)).empty());
}

TEST_CASE("a model that is no model fails while loading, with the engine's true reason") {
  installed_engine();
  cluster c;
  c.start_replica(1, c.data().write("models/broken.gguf", "this is no model"));
  auto failed = c.wait_for(1, replica_phase::failed);
  CHECK(failed.reason.find("exit code 1") != std::string::npos);
  CHECK(failed.reason.find("is not a GGUF file") != std::string::npos);
}

TEST_CASE("one byte of the runtime's environment that changes is a reported change of the stack") {
  // A copy: the agents of tests that run beside this one watch the shared environment.
  test::temp_folder own;
  std::filesystem::copy(
    installed_engine().folder,
    own.path() / "llama",
    std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks
  );
  cluster c{own.path() / "llama/bin"};
  REQUIRE(test::eventually([&] { return !c.inventory().fingerprint.fields.empty(); }));
  auto before = c.inventory().fingerprint;
  auto extra = own.path() / "llama/lib/assay/extra";
  std::ofstream{extra} << "x";
  auto changed = test::eventually([&] { return c.inventory().fingerprint.sum != before.sum; }, 10s);
  std::filesystem::remove(extra);
  CHECK(changed);
  CHECK(test::eventually([&] { return c.inventory().fingerprint.sum == before.sum; }, 10s));
}

TEST_CASE("installing again what is there touches no file of the runtime's environment") {
  auto folder = installed_engine().folder;
  auto watch = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  REQUIRE(watch >= 0);
  for (const auto* part : {"bin", "lib/assay"})
    REQUIRE(
      ::inotify_add_watch(
        watch, (folder / part).c_str(), IN_CREATE | IN_MODIFY | IN_MOVE | IN_DELETE
      )
      >= 0
    );
  auto again = std::string{ASSAY_SOURCE_DIR} + "/deploy/runtimes/install-llama '" + folder.native()
               + "' >/dev/null";
  CHECK(std::system(again.c_str()) == 0);
  std::array<char, 4096> events{};
  CHECK(::read(watch, events.data(), events.size()) == -1);
  CHECK(errno == EAGAIN);
  ::close(watch);
}

TEST_CASE("a server that somebody else started is offered, watched, proven and never stopped") {
  installed_engine();
  foreign_server server;
  cluster c;
  CHECK(server.offer_to(c.data().path()) == 0);
  REQUIRE(test::eventually([&] { return c.offer().has_value(); }));
  CHECK(c.offer()->url == server.url());
  CHECK(c.offer()->model == "chat");
  c.adopt(1, server.url());
  auto ready = c.wait_for(1, replica_phase::ready);
  CHECK(ready.adopted);
  CHECK(ready.port == server.port());
  CHECK(ready.secret.empty());
  c.forget(1);
  c.wait_for(1, replica_phase::gone);
  CHECK(server.is_running());
}

TEST_CASE("adopting without an agent says what to start") {
  test::temp_folder nobody;
  foreign_server server{false};
  CHECK(server.offer_to(nobody.path()) == 5);
}

TEST_CASE("a second agent on the same data directory is refused with the first one's pid") {
  installed_engine();
  cluster c;
  auto second = agent_lock::take(c.data().path() / "agent");
  REQUIRE_FALSE(second);
  CHECK(second.error().kind == problem_kind::refused);
  auto first = running_agent(c.data().path() / "agent");
  REQUIRE(first);
  CHECK(second.error().what.find(std::to_string(first->pid)) != std::string::npos);
}

} // namespace assay::agent
