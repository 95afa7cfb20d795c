#include "node-agent/runtime/launch_plan.hpp"
#include "node-agent/runtime/replica.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

namespace assay::agent {

namespace {

catalog::runtime_profile llama_profile() {
  auto path = std::string{ASSAY_SOURCE_DIR} + "/deploy/runtimes/llama-server.yaml";
  auto text = read_small_file(path);
  REQUIRE(text);
  auto profile = catalog::parse_profile("llama-server.yaml", *text);
  REQUIRE(profile);
  return *profile;
}

fabric::start_replica order() {
  fabric::start_replica result;
  result.replica = {"chat/local/q4/1@n1"};
  result.implementation = {"chat/local/q4"};
  result.model = {"chat"};
  result.generation = 3;
  result.artifact.location = "/models";
  result.artifact.files = {{"README", 1, {}}, {"model.gguf", 1, {}}};
  result.slots = 2;
  return result;
}

bool has_word(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// A place with a program of that name that may be run.
struct place_with_program {
  test::temp_folder folder;
  launch_place place;

  explicit place_with_program(const std::string& name) {
    auto program = folder.write("bin/" + name, "#!/bin/true\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    place.port = 7201;
    place.secret = "s3cret";
    place.path = {folder.path() / "bin"};
    place.inherited = {{"PATH", "/usr/bin"}, {"HOME", "/root"}, {"AWS_SECRET", "x"}};
  }
};

} // namespace

TEST_CASE("an order becomes a command line on loopback with the secret in the environment only") {
  place_with_program here{"llama-server"};
  auto plan = plan_launch(llama_profile(), order(), here.place);
  REQUIRE(plan);
  CHECK(plan->argv.front() == (here.folder.path() / "bin/llama-server").native());
  for (const auto* word : {"/models/model.gguf", "127.0.0.1", "7201", "chat"})
    CHECK(has_word(plan->argv, word));
  CHECK_FALSE(has_word(plan->argv, "s3cret"));
  CHECK(plan->env.at("LLAMA_API_KEY") == "s3cret");
  CHECK_FALSE(plan->env.contains("AWS_SECRET"));
}

TEST_CASE("no profile widens the mask of the devices that a replica was given") {
  place_with_program here{"llama-server"};
  here.place.devices = {{{"CUDA_VISIBLE_DEVICES", "GPU-1"}}, "GPU-1"};
  auto profile = llama_profile();
  profile.launch->env["CUDA_VISIBLE_DEVICES"] = "all";
  auto plan = plan_launch(profile, order(), here.place);
  REQUIRE(plan);
  CHECK(plan->env.at("CUDA_VISIBLE_DEVICES") == "GPU-1");
}

TEST_CASE("a replica listens where its place says, which is no part of its stack") {
  place_with_program here{"llama-server"};
  auto before = launch_text(llama_profile(), slots_of(order(), here.place));
  here.place.address = "10.0.0.17";
  auto plan = plan_launch(llama_profile(), order(), here.place);
  REQUIRE(plan);
  CHECK(has_word(plan->argv, "10.0.0.17"));
  CHECK_FALSE(has_word(plan->argv, "127.0.0.1"));
  CHECK(launch_text(llama_profile(), slots_of(order(), here.place)) == before);
}

TEST_CASE("an engine is told the model's name without its version, as requests name it") {
  place_with_program here{"llama-server"};
  auto second = order();
  second.model = {"chat@2"};
  auto plan = plan_launch(llama_profile(), second, here.place);
  REQUIRE(plan);
  CHECK(has_word(plan->argv, "chat"));
  CHECK_FALSE(has_word(plan->argv, "chat@2"));
}

TEST_CASE("a runtime that is not installed is refused with what to do") {
  place_with_program here{"something-else"};
  auto plan = plan_launch(llama_profile(), order(), here.place);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().kind == problem_kind::not_found);
  CHECK(plan.error().next.find("`path:`") != std::string::npos);
}

TEST_CASE("a profile without a launch cannot be started, only adopted") {
  place_with_program here{"llama-server"};
  auto profile = llama_profile();
  profile.launch.reset();
  auto plan = plan_launch(profile, order(), here.place);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().kind == problem_kind::refused);
}

TEST_CASE("the words of a launch name no port and no path") {
  place_with_program here{"llama-server"};
  auto text = launch_text(llama_profile(), slots_of(order(), here.place));
  CHECK(text.find("7201") == std::string::npos);
  CHECK(text.find("/models") == std::string::npos);
  auto other = here.place;
  other.port = 7555;
  CHECK(launch_text(llama_profile(), slots_of(order(), other)) == text);
}

TEST_CASE("two secrets are never the same, and have 256 bits") {
  CHECK(make_secret().size() == 64);
  CHECK(make_secret() != make_secret());
}

TEST_CASE("replicas whose ids read alike have different folders") {
  CHECK(folder_name({"a/b"}, 1) != folder_name({"a_b"}, 1));
  CHECK(folder_name({"a/b"}, 1) != folder_name({"a/b"}, 2));
  CHECK(folder_name({std::string(400, 'x') + "/.."}, 1).find('/') == std::string::npos);
}

} // namespace assay::agent
