#include "src/catalog/parse.hpp"
#include "src/qualification/run.hpp"
#include "src/qualification/suite.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fstream>
#include <sstream>

namespace assay::qualification {

namespace {

const std::string smallest = R"(suite: small
items:
  - id: one
    ask: What is 2 + 2?
    expect: {number: 4}
)";

/// What a person reads about a suite that is wrong, one problem a line.
std::string told(const std::string& text) {
  const auto read = parse_suite("s.yaml", text);
  REQUIRE_FALSE(read);
  std::string all;
  for (const auto& p : read.error())
    all += to_text(p) + "\n";
  return all;
}

bool tells(const std::string& text, const std::string& words) {
  const auto all = told(text);
  INFO(all);
  const bool found = all.find(words) != std::string::npos;
  CHECK(found);
  return found;
}

std::string with_expect(const std::string& expect) {
  return "suite: s\nitems:\n  - id: one\n    ask: What?\n    expect: " + expect + "\n";
}

} // namespace

TEST_CASE("the smallest suite has every contract check and the documented defaults") {
  const auto read = parse_suite("s.yaml", smallest);
  REQUIRE(read);
  CHECK(read->name.value == "small");
  CHECK(read->checks.size() == 8);
  CHECK(read->deadline == std::chrono::seconds{60});
  CHECK(read->retries == 3);
  REQUIRE(read->items.size() == 1);
  CHECK(read->items[0].sampling.max_tokens == 16);
  CHECK(read->items[0].points == 1);
  CHECK(read->items[0].messages.at(0).role == "user");
}

TEST_CASE("an item's sampling changes only what it names") {
  const auto read = parse_suite("s.yaml", R"(suite: s
sampling: {temperature: 0.25, max tokens: 40, seed: 7}
contract: [usage, error_shape]
items:
  - id: one
    system: Be short.
    ask: What?
    sampling: {max_tokens: 8}
    expect: {contains: yes it is}
)");
  REQUIRE(read);
  const auto& how = read->items.at(0).sampling;
  CHECK(how.temperature_millionths == 250'000);
  CHECK(how.max_tokens == 8);
  CHECK(how.seed == 7);
  CHECK(read->checks == std::vector{check_kind::usage, check_kind::error_shape});
  CHECK(read->items[0].messages.size() == 2);
}

TEST_CASE("a suite whose list of contract checks is empty is refused, and one check is enough") {
  const std::string items = "items:\n  - id: one\n    ask: What?\n    expect: {exact: A}\n";
  CHECK(parse_suite("s.yaml", "suite: s\ncontract: [usage]\n" + items));
  CHECK(tells("suite: s\ncontract: []\n" + items, "the list names no check"));
}

TEST_CASE("every scorer is read") {
  const std::pair<std::string, std::string> rows[] = {
    {"{exact: A}", "exact"},
    {"{pattern: '^A$'}", "pattern"},
    {"{regex: '^A$'}", "pattern"},
    {"{number: 3.5, tolerance: 0.1}", "number"},
    {"{choice: dog, among: [dog, chair]}", "choice"},
    {"{contains: A}", "contains"},
    {"{json: {name: string}}", "json"},
  };
  for (const auto& [expect, kind] : rows) {
    CAPTURE(expect);
    const auto read = parse_suite("s.yaml", with_expect(expect));
    REQUIRE(read);
    CHECK(kind_of(read->items[0].scorer) == kind);
  }
}

TEST_CASE("an unknown key is named with its line and the keys there are") {
  tells(smallest + "retires: 4\n", "s.yaml:6:1: retires");
  tells(smallest + "retires: 4\n", "retries");
}

TEST_CASE("a wrong suite says what is allowed and what to do") {
  tells("suite: s\n", "write `items:`");
  tells("suite: s\nitems: []\n", "there are 0 items");
  tells(with_expect("{}"), "there is no scorer");
  tells(with_expect("{exact: A, contains: B}"), "there are two scorers, exact and contains");
  tells(with_expect("{pattern: '('}"), "this is no RE2 pattern");
  tells(with_expect("{choice: cat, among: [dog, chair]}"), "the right one with them");
  tells(with_expect("{json: {name: text}}"), "string, number, integer");
  tells(with_expect("{number: four}"), "expect.number");
  tells("suite: s\ncontract: [usage, usage]\n", "usage is listed twice");
  tells("suite: s\ncontract: [spelling]\n", "unary-schema");
  tells("- a\n- b\n", "s.yaml:1:1");
}

TEST_CASE("an item needs one question and an id of its own") {
  tells("suite: s\nitems:\n  - id: a\n    expect: {exact: A}\n", "there is no question");
  tells(
    "suite: s\nitems:\n  - {id: a, ask: x, expect: {exact: A}}\n  - {id: a, ask: y, expect: "
    "{exact: A}}\n",
    "is used twice"
  );
  tells(
    "suite: s\nitems:\n  - id: a\n    ask: x\n    messages: [{role: user, content: y}]\n    "
    "expect: {exact: A}\n",
    "both `ask` and `messages`"
  );
}

TEST_CASE("numbers are taken up to their limit and refused past it") {
  const auto with = [](const std::string& line) { return line + "\n" + smallest; };
  CHECK(parse_suite("s.yaml", smallest + "sampling: {max-tokens: 4096, temperature: 2}\n"));
  tells(smallest + "sampling: {max-tokens: 4097}\n", "sampling.max-tokens");
  tells(smallest + "sampling: {temperature: 2.1}\n", "sampling.temperature");
  tells(smallest + "retries: 11\n", "retries");
  tells(smallest + "deadline: 5\n", "deadline");
  CHECK(parse_suite("s.yaml", with("# a comment")));
}

TEST_CASE("the try-out's suite and policy can pass, and not by knowing one answer") {
  std::ifstream file{ASSAY_SOURCE_DIR "/deploy/tryout/suite.yaml"};
  std::stringstream text;
  text << file.rdbuf();
  const catalog::source_file files[] = {{"suite.yaml", text.str()}};
  const auto declared = catalog::parse(files);
  REQUIRE(declared);
  REQUIRE(declared->items.size() == 2);
  const auto document = std::get<catalog::suite_document>(declared->items[0].value);
  const auto policy = std::get<catalog::policy>(declared->items[1].value);
  const auto suite = parse_suite("suite.yaml", document.text);
  REQUIRE(suite);
  CHECK(suite->checks.size() == 8);
  CHECK(suite->items.size() == 24);
  CHECK(policy.suite == suite->name);
  CHECK(policy.score_at_least_ppm == 400'000);
  subject who;
  who.limits.context_tokens = 1'024;
  CHECK(prepare(who, *suite, policy));
  CHECK(fewest_right(24, policy) == 15);
}

} // namespace assay::qualification
