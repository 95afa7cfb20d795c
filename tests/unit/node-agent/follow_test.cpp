// The program itself, between two hubs of which one leads.

#include "node-agent/program/known_coordinators.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/unit/fabric/stage.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

namespace assay::agent {

namespace {

namespace fabric_test = fabric::test;

/// A running agent of a folder that has its keys; it ends as it is told to, with the object.
class agent_process {
public:
  agent_process(const std::filesystem::path& data, const std::string& coordinator) {
    std::vector<std::string> words{
      ASSAY_AGENT_PROGRAM,
      "run",
      "--data",
      data.native(),
      "--host",
      "h1",
      "--coordinator",
      coordinator};
    std::vector<char*> argv;
    for (auto& word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    auto log = (data / "agent.log").native();
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(
      &files, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600
    );
    auto failed = ::posix_spawn(&pid_, argv[0], &files, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&files);
    REQUIRE(failed == 0);
  }
  ~agent_process() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  agent_process(const agent_process&) = delete;
  agent_process& operator=(const agent_process&) = delete;

private:
  pid_t pid_ = 0;
};

/// Keys as `assay-agent join` leaves them.
void write_keys(const std::filesystem::path& data, const fabric_test::site& s) {
  auto keys = data / "agent/keys";
  std::filesystem::create_directories(keys);
  REQUIRE(fabric::write_key_pair(keys, "agent", s.h1));
  std::ofstream{keys / "coordinator.pub"} << fabric::to_text(s.server.shared) << '\n';
}

} // namespace

TEST_CASE("an agent that starts again while its only configured coordinator is gone finds the other"
) {
  fabric_test::site s;
  test::temp_folder data;
  write_keys(data.path(), s);
  auto first = std::make_unique<fabric_test::coordinator>(s.hub());
  auto other_site = s;
  other_site.server = fabric::new_key_pair();
  fabric_test::coordinator other{other_site.hub()};
  auto where = first->fabric->address();
  coordinators both{s.at(where), other_site.at(other.fabric->address())};
  other.fabric->set_standing({.leads = false, .epoch = 1, .coordinators = both, .leader = both[0]});
  first->fabric->set_standing({.leads = true, .epoch = 1, .coordinators = both});
  auto file = known_coordinators_path(data.path());
  {
    agent_process agent{data.path(), where};
    REQUIRE(first->ups.wait_for("h1"));
    REQUIRE(test::eventually([&] {
      return read_known_coordinators(file, {both[0]}).value_or({}) == both;
    }));
  }
  first.reset();
  other.fabric->set_standing({.leads = true, .epoch = 2, .coordinators = both});
  agent_process again{data.path(), where};
  CHECK(other.ups.wait_for("h1"));
}

} // namespace assay::agent
