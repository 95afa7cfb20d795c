#include "src/app/own_keys.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <sys/stat.h>

#include <fstream>

namespace assay::app {

namespace {

struct home {
  test::temp_folder where;
  store::data_directory directory =
    *store::data_directory::open(where.path(), {.is_network_accepted = true});

  /// As each start of assayd does.
  std::unique_ptr<own_keys> open() const {
    auto secrets = load_secrets(directory, true);
    REQUIRE(secrets);
    auto opened = own_keys::open(directory, *secrets);
    REQUIRE(opened);
    return *std::move(opened);
  }

  std::filesystem::path file(const char* name) const { return directory.keys() / name; }

  std::size_t next_files() const {
    std::size_t count = 0;
    for (const auto& one : std::filesystem::directory_iterator{directory.keys()})
      count += one.path().filename().string().starts_with("next-");
    return count;
  }
};

} // namespace

TEST_CASE("next keys are made once, for their owner's eyes, and wait through a restart") {
  home at;
  auto keys = at.open();
  CHECK_FALSE(keys->waiting());
  auto made = keys->prepare();
  REQUIRE(made);
  CHECK(made->signing != keys->in_use().signing);
  CHECK(made->curve != keys->in_use().curve);
  CHECK(keys->prepare().value() == *made);
  struct stat mode {};
  for (const auto* name : {"next-signing.secret", "next-coordinator.secret"}) {
    REQUIRE(::stat(at.file(name).c_str(), &mode) == 0);
    CHECK((mode.st_mode & 0777) == 0600);
  }
  auto again = at.open();
  CHECK(again->waiting() == *made);
  CHECK(again->in_use() == keys->in_use());
  CHECK(again->signing()->find(made->signing) != nullptr);
  CHECK(again->signing()->find(again->in_use().signing) != nullptr);
}

TEST_CASE("adopted keys are those in use, here and after a restart, and none wait") {
  home at;
  auto keys = at.open();
  auto before = keys->in_use();
  auto made = keys->prepare().value();
  REQUIRE(keys->adopt());
  CHECK(keys->in_use() == made);
  CHECK_FALSE(keys->waiting());
  CHECK(at.next_files() == 0);
  CHECK_FALSE(keys->seed_of(before.signing));
  auto again = at.open();
  CHECK(again->in_use() == made);
  CHECK(again->prepare().value() != made);
}

TEST_CASE("what an adoption that was cut left behind is no next key") {
  home at;
  auto keys = at.open();
  auto made = keys->prepare().value();
  test::temp_folder kept;
  for (const auto* name :
       {"next-signing.secret", "next-coordinator.secret", "next-coordinator.pub"})
    std::filesystem::copy_file(at.file(name), kept.path() / name);
  REQUIRE(keys->adopt());
  auto give_back = [&](const char* name) {
    std::filesystem::copy_file(kept.path() / name, at.file(name));
  };
  give_back("next-signing.secret"); // All but the last of three was removed.
  auto again = at.open();
  CHECK_FALSE(again->waiting());
  CHECK(again->prepare().value().signing != made.signing);
  std::filesystem::remove(at.file("next-signing.secret"));
  std::filesystem::remove(at.file("next-coordinator.secret"));
  std::filesystem::remove(at.file("next-coordinator.pub"));
  for (const auto* name : {"next-signing.secret", "next-coordinator.secret"}) // None was.
    give_back(name);
  again = at.open();
  CHECK_FALSE(again->waiting());
  CHECK(again->in_use() == made);
  CHECK(at.next_files() == 0);
}

TEST_CASE("a next signing key that is lost is told of, because a record may name it") {
  home at;
  REQUIRE(at.open()->prepare());
  std::filesystem::remove(at.file("next-signing.secret"));
  auto opened = own_keys::open(at.directory, *load_secrets(at.directory, true));
  REQUIRE_FALSE(opened);
  CHECK(opened.error().where == at.file("next-signing.secret").string());
}

} // namespace assay::app
