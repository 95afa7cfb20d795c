// The holder with real processes: what it promises must hold when things are killed.

#include "node-agent/runtime/holder_link.hpp"
#include "node-agent/runtime/log_file.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <signal.h>

#include <algorithm>

namespace assay::agent {

namespace {

using namespace std::chrono_literals;

launch_order shell(const std::string& script) {
  launch_order order;
  order.argv = {"/bin/sh", "-c", script};
  order.env = {{"PATH", "/usr/bin:/bin"}, {"SECRET", "s3cret"}};
  order.stop_grace = 5s;
  order.log_bytes = 1 << 20;
  return order;
}

/// A holder that was started in a folder of its own; ended with the test.
class held_runtime {
public:
  explicit held_runtime(const launch_order& order) {
    auto started = start_holder(folder_.path(), order, ASSAY_AGENT_PROGRAM);
    REQUIRE(started);
    holder_ = *started;
  }
  ~held_runtime() {
    send_signal(holder_, SIGKILL);
    test::eventually([&] { return !is_alive(holder_); });
    look();
    end_leftovers(folder_.path());
  }

  holder_view look() const { return look_at_holder(folder_.path(), holder_); }
  const std::filesystem::path& path() const { return folder_.path(); }
  const process_ref& holder() const { return holder_; }

  holding wait_until_held() const {
    REQUIRE(test::eventually([&] { return std::holds_alternative<holder_alive>(look()); }));
    return std::get<holder_alive>(look()).held;
  }
  exit_record wait_for_exit() const {
    REQUIRE(test::eventually([&] { return std::holds_alternative<holder_ended>(look()); }));
    return std::get<holder_ended>(look()).record;
  }

private:
  test::temp_folder folder_;
  process_ref holder_;
};

/// Runs until it is told to stop, and says in its log that it is there.
const auto sleeper = "trap 'exit 0' TERM; echo started; while :; do sleep 0.05; done";

bool has_logged(const std::filesystem::path& directory, const std::string& text) {
  return read_log_tail(directory / "stdout.log", 4096).find(text) != std::string::npos;
}

} // namespace

TEST_CASE("a runtime's exit code is in the record, and was not asked for") {
  held_runtime held{shell("exit 7")};
  auto record = held.wait_for_exit();
  CHECK(record.code == 7);
  CHECK_FALSE(record.signal);
  CHECK_FALSE(record.asked);
}

TEST_CASE("an order to stop ends the runtime by its own way, and the record says it was asked") {
  held_runtime held{shell(sleeper)};
  held.wait_until_held();
  REQUIRE(test::eventually([&] { return has_logged(held.path(), "started"); }));
  CHECK(ask_to_stop(held.path()));
  auto record = held.wait_for_exit();
  CHECK(record.code == 0);
  CHECK(record.asked);
  CHECK_FALSE(record.forced);
}

TEST_CASE("a runtime that ignores the signal is killed when its grace is over") {
  auto order = shell("trap '' TERM; echo started; while :; do sleep 0.05; done");
  order.stop_grace = 200ms;
  held_runtime held{order};
  held.wait_until_held();
  REQUIRE(test::eventually([&] { return has_logged(held.path(), "started"); }));
  ask_to_stop(held.path());
  auto record = held.wait_for_exit();
  CHECK(record.signal == SIGKILL);
  CHECK(record.forced);
}

TEST_CASE("a killed runtime is seen with its signal, and what it started dies with it") {
  // One child in its group, one in a session of its own.
  held_runtime held{shell("sleep 600 & setsid sleep 600 & echo started; wait")};
  auto held_by = held.wait_until_held();
  REQUIRE(test::eventually([&] { return process_tree(held_by).size() == 3; }));
  std::vector<process_ref> children;
  for (auto pid : process_tree(held_by))
    if (auto who = ref_of(pid))
      children.push_back(*who);
  CHECK(send_signal(held_by.runtime, SIGKILL));
  auto record = held.wait_for_exit();
  CHECK(record.signal == SIGKILL);
  CHECK_FALSE(record.asked);
  CHECK(record.stragglers == 2);
  for (const auto& child : children)
    CHECK_FALSE(is_alive(child));
}

TEST_CASE("a killed holder takes the runtime along, and its leftovers are found and ended") {
  held_runtime held{shell("setsid sleep 600 & echo started; wait")};
  auto held_by = held.wait_until_held();
  REQUIRE(test::eventually([&] { return process_tree(held_by).size() == 2; }));
  auto tree = process_tree(held_by);
  std::vector<process_ref> all;
  for (auto pid : tree)
    if (auto who = ref_of(pid))
      all.push_back(*who);
  CHECK(send_signal(held.holder(), SIGKILL));
  REQUIRE(test::eventually([&] { return std::holds_alternative<holder_lost>(held.look()); }));
  end_leftovers(held.path());
  CHECK((held_by.cgroup.empty() || !std::filesystem::exists(held_by.cgroup)));
  CHECK(test::eventually([&] {
    return std::none_of(all.begin(), all.end(), [](const auto& who) { return is_alive(who); });
  }));
}

TEST_CASE("a program that cannot be run is a record with the reason, not a silence") {
  auto order = shell("");
  order.argv = {"/no/such/program"};
  held_runtime held{order};
  CHECK(
    held.wait_for_exit().not_started == "cannot run /no/such/program: No such file or directory"
  );
}

TEST_CASE("a holder without an order says so in its record") {
  test::temp_folder folder;
  auto started = start_holder(folder.path(), shell("exit 0"), ASSAY_AGENT_PROGRAM);
  REQUIRE(started);
  folder.write("launch.json", "{");
  // Either the order was read before it was damaged, or the record says that it is damaged.
  REQUIRE(test::eventually([&] {
    return std::holds_alternative<holder_ended>(look_at_holder(folder.path(), *started));
  }));
}

TEST_CASE("the secret reaches the runtime by its environment and stands in no argument") {
  held_runtime held{shell("echo secret=$SECRET; exec sleep 600")};
  auto held_by = held.wait_until_held();
  REQUIRE(test::eventually([&] { return has_logged(held.path(), "secret=s3cret"); }));
  for (auto pid : {held_by.holder.pid, held_by.runtime.pid}) {
    auto words = read_small_file("/proc/" + std::to_string(pid) + "/cmdline");
    REQUIRE(words);
    CHECK(words->find("s3cret") == std::string::npos);
  }
}

TEST_CASE("nothing of the agent's environment reaches the runtime but what the order names") {
  held_runtime held{shell("env; echo end; exec sleep 600")};
  REQUIRE(test::eventually([&] { return has_logged(held.path(), "end"); }));
  auto log = read_log_tail(held.path() / "stdout.log", 4096);
  CHECK(log.find("ASSAY_HOLD=") != std::string::npos);
  CHECK(log.find("HOME=") == std::string::npos);
}

TEST_CASE("a log file never grows past its limit and keeps one older file") {
  test::temp_folder folder;
  auto path = folder.path() / "log";
  {
    log_file log{path, 10};
    log.append("123456789\n");
    log.append("a\n");
  }
  CHECK(read_small_file(path) == "a\n");
  CHECK(read_small_file(path.native() + ".1") == "123456789\n");
  CHECK(read_log_tail(path, 100) == "123456789\na\n");
  CHECK(read_log_tail(path, 4) == "a\n");
}

TEST_CASE("the files between agent and holder are read back as they were written") {
  test::temp_folder folder;
  auto order = shell("x");
  REQUIRE(write(folder.path(), order));
  CHECK(*read_launch_order(folder.path()) == order);
  holding held{{10, 11}, {12, 13}, "/cg", 3};
  REQUIRE(write(folder.path(), held));
  CHECK(*read_holding(folder.path()) == held);
  exit_record record{{}, 9, "", true, true, 2, 1, {5}, {6}};
  REQUIRE(write(folder.path(), record));
  CHECK(*read_exit_record(folder.path()) == record);
}

TEST_CASE("a damaged file between agent and holder is a problem with its path") {
  test::temp_folder folder;
  for (const auto* text : {"", "{", "[]", "{}", R"({"holder": 1})"}) {
    auto path = folder.write("holder.json", text);
    auto held = read_holding(folder.path());
    REQUIRE_FALSE(held);
    CHECK(held.error().where == path.native());
  }
}

} // namespace assay::agent
