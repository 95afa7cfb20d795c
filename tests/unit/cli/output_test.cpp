#include "src/cli/commands.hpp"
#include "src/cli/output.hpp"

#include <boost/json/parse.hpp>
#include <catch2/catch_test_macros.hpp>

namespace assay::cli {

namespace {

const auto items =
  json::parse(
    R"([{"name":"a","since_ms":0,"ready":true,"classes":["x","y"],"load":0.5,"why":""},
      {"name":"b","since_ms":null,"ready":false,"classes":[],"load":123456789.0,"why":"no"}])"
  )
    .as_array();

} // namespace

TEST_CASE("cells are for eyes: dates, yes and no, lists, whole numbers, a dash for nothing") {
  CHECK(
    show_items(items, format::table, {})
    == "NAME  SINCE                 READY  CLASSES  LOAD       WHY\n"
       "a     1970-01-01T00:00:00Z  yes    x, y     0.5        -\n"
       "b     -                     no     -        123456789  no\n"
  );
}

TEST_CASE("names alone are one a line") {
  CHECK(show_items(items, format::name, {}) == "a\nb\n");
}

TEST_CASE("JSON and YAML hold everything, unrounded") {
  auto text = show_items(items, format::json, {});
  CHECK(json::parse(text).as_array() == items);
  CHECK(
    to_yaml(json::parse(R"({"a":[1,"x"],"b":null,"c":true})"))
    == "a:\n  - 1\n  - x\nb: ~\nc: true\n"
  );
}

TEST_CASE("an empty list says so to people and stays a list for programs") {
  CHECK(show_items({}, format::table, {}) == "nothing there\n");
  CHECK(show_items({}, format::json, {}) == "[]\n");
}

TEST_CASE("kinds are known by plural, singular and shorthand; others are named with what is allowed"
) {
  CHECK(*kind_path("pools") == "pools");
  CHECK(*kind_path("policy") == "policies");
  CHECK(*kind_path("impl") == "implementations");
  CHECK_FALSE(kind_path(""));
  auto unknown = kind_path("pod");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().next.find("implementations") != std::string::npos);
}

TEST_CASE("a name with slashes and a hash is one path segment") {
  CHECK(segment("m/p/a#prof") == "m%2Fp%2Fa%23prof");
  CHECK(segment("plain-1.2_x@3") == "plain-1.2_x@3");
}

} // namespace assay::cli
