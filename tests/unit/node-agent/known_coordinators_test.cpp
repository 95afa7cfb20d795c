#include "node-agent/host/process.hpp"
#include "node-agent/program/known_coordinators.hpp"
#include "src/base/peer_limits.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <sys/stat.h>

namespace assay::agent {

namespace {

fabric::coordinator_at at(std::uint8_t number) {
  fabric::coordinator_at one{"10.0.0." + std::to_string(number) + ":7103", {}};
  one.key.bytes.fill(number);
  return one;
}

const coordinators configured{at(1)};
const coordinators learned{at(1), at(2), at(3)};

} // namespace

TEST_CASE("what was learned is there for the next run, for its owner alone") {
  test::temp_folder data;
  auto file = data.path() / "coordinators.json";
  REQUIRE(write_known_coordinators(file, configured, learned));
  auto back = read_known_coordinators(file, configured);
  REQUIRE(back);
  CHECK(*back == learned);
  struct stat facts {};
  REQUIRE(::stat(file.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 07777) == 0600);
}

TEST_CASE("nothing was learned where nothing was written, or from other coordinators") {
  test::temp_folder data;
  auto file = data.path() / "coordinators.json";
  CHECK(read_known_coordinators(file, configured).value_or(learned).empty());
  REQUIRE(write_known_coordinators(file, configured, learned));
  auto another_key = configured;
  another_key[0].key.bytes.fill(9);
  for (const auto& other : {coordinators{at(2)}, coordinators{at(1), at(2)}, another_key})
    CHECK(read_known_coordinators(file, other).value_or(learned).empty());
}

TEST_CASE("a damaged list is said to be so, wherever the damage is") {
  test::temp_folder data;
  auto file = data.path() / "coordinators.json";
  REQUIRE(write_known_coordinators(file, configured, learned));
  auto whole = read_small_file(file).value();
  auto is_damaged = [&](const std::string& text) {
    data.write("coordinators.json", text);
    auto back = read_known_coordinators(file, configured);
    return !back && back.error().where == file.native() && !back.error().next.empty();
  };
  for (std::size_t size : {std::size_t{0}, std::size_t{1}, whole.size() / 2, whole.size() - 2})
    CHECK(is_damaged(whole.substr(0, size)));
  CHECK(is_damaged("[]"));
  CHECK(is_damaged("{}"));
  CHECK(is_damaged(R"({"configured":[],"learned":[7]})"));
  CHECK(is_damaged(R"({"configured":[],"learned":[{"address":"10.0.0.1:7103"}]})"));
  CHECK(is_damaged(R"({"configured":[],"learned":[{"address":"10.0.0.1:7103","key":"short"}]})"));
  auto unreachable = whole;
  unreachable.replace(unreachable.rfind(":7103"), 5, ":0000");
  CHECK(is_damaged(unreachable));
}

TEST_CASE("as many coordinators as a group may have are read, and not one more") {
  test::temp_folder data;
  auto file = data.path() / "coordinators.json";
  coordinators most(limits::peers, at(1));
  REQUIRE(write_known_coordinators(file, configured, most));
  CHECK(read_known_coordinators(file, configured));
  most.push_back(at(2));
  REQUIRE(write_known_coordinators(file, configured, most));
  CHECK_FALSE(read_known_coordinators(file, configured));
}

TEST_CASE("a memory keeps what it learned last") {
  test::temp_folder data;
  auto file = data.path() / "coordinators.json";
  coordinator_memory memory{file, configured};
  memory.learn({at(2)});
  memory.learn(learned);
  memory.keep();
  CHECK(read_known_coordinators(file, configured).value_or({}) == learned);
}

} // namespace assay::agent
