#include "src/app/place.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fstream>

namespace assay::app {

namespace {

store::data_directory open(const std::filesystem::path& at) {
  auto opened = store::data_directory::open(at, {.is_network_accepted = true});
  REQUIRE(opened);
  return std::move(*opened);
}

} // namespace

TEST_CASE("a directory has no place before it was given one, and keeps the one that it was given") {
  test::temp_folder where;
  auto directory = open(where.path());
  auto none = read_place(directory);
  REQUIRE(none);
  CHECK_FALSE(*none);
  place mine{
    new_uuid7(), "lab", 2, "b", {{1, "10.0.0.1:7104", fabric::new_key_pair().shared, "disk 1"}}};
  REQUIRE(write_place(directory, mine));
  auto again = read_place(directory);
  REQUIRE(again);
  REQUIRE(*again);
  CHECK(**again == mine);
}

TEST_CASE("a damaged place is named with its file and what to do") {
  test::temp_folder where;
  auto directory = open(where.path());
  for (const auto* text : {"", "{", "[]", "{\"cluster\": \"x\"}", "{\"cluster\": 7}"}) {
    REQUIRE(write_place(directory, {new_uuid7(), "lab", 2, "b", {}})); // For its mode.
    std::ofstream{where.path() / "member.json", std::ios::trunc} << text;
    auto bad = read_place(directory);
    REQUIRE_FALSE(bad);
    CHECK(bad.error().where == (where.path() / "member.json").string());
    CHECK_FALSE(bad.error().next.empty());
  }
}

} // namespace assay::app
