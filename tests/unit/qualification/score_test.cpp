#include "src/qualification/score.hpp"

#include <catch2/catch_test_macros.hpp>

#include <vector>

namespace assay::qualification {

namespace {

struct row {
  std::string answer;
  bool right = false;
};

void check_rows(const scorer& how, const std::vector<row>& rows) {
  for (const auto& r : rows) {
    CAPTURE(r.answer);
    const auto m = score(how, r.answer);
    CHECK(m.right == r.right);
    CHECK(m.why.empty() == r.right);
  }
}

numeric_answer number(std::int64_t value, std::int64_t tolerance_millionths = 0) {
  return {value * 1'000'000, tolerance_millionths};
}

} // namespace

TEST_CASE("exact forgives case, space and one full stop, and nothing else") {
  check_rows(
    exact_answer{"Banana"},
    {{"banana", true}, {" Banana.\n", true}, {"Banana..", false}, {"a banana", false}, {"", false}}
  );
}

TEST_CASE("contains wants whole words") {
  check_rows(
    contains_answer{"mice"},
    {{"Mice!", true},
     {"The plural is \"mice\"", true},
     {"micelle", false},
     {"amice", false},
     {"m\303\257ce", false},
     {"mice\303\251", false},
     {"", false}}
  );
}

TEST_CASE("a word next to punctuation of its own is found") {
  check_rows(contains_answer{"C++"}, {{"It is C++.", true}, {"It is C+", false}});
}

TEST_CASE("numeric takes the last number that stands alone") {
  check_rows(
    number(25),
    {{"12 + 13 = 25", true},
     {"25.0", true},
     {"25.", true},
     {"25, and that is it", true},
     {"25 of 30", false},
     {"-25", false},
     {"x25", false},
     {"none", false}}
  );
}

TEST_CASE("numeric reads thousands, signs and large nonsense") {
  check_rows(number(1'234'567), {{"1,234,567", true}, {"1234567", true}, {"1,23", false}});
  check_rows(number(-4), {{"it is -4", true}, {"3-4", false}, {"4", false}});
  check_rows(number(7), {{"99999999999999999999999999", false}});
}

TEST_CASE("numeric accepts the last value within the tolerance and refuses the next") {
  check_rows(
    number(3, 140'000), {{"3.14", true}, {"2.86", true}, {"3.140001", false}, {"2.859999", false}}
  );
}

TEST_CASE("choice takes the first of the words that is named") {
  const choice_answer how{"yes", {"yes", "no"}};
  check_rows(
    how,
    {{"Yes, they do.", true}, {"No. Yes is wrong.", false}, {"I know: yes", true}, {"maybe", false}}
  );
}

TEST_CASE("json wants one object with members of the right types, fenced or not") {
  const json_answer how{{{"name", "string"}, {"age", "integer"}}};
  check_rows(
    how,
    {{R"({"name":"Ada","age":36})", true},
     {"```json\n{\"name\":\"Ada\",\"age\":36,\"more\":[]}\n```", true},
     {R"({"name":"Ada","age":"36"})", false},
     {R"({"name":"Ada"})", false},
     {R"([{"name":"Ada","age":36}])", false},
     {R"({"name":"Ada","age":36} thanks)", false},
     {"```json\n{", false},
     {"", false}}
  );
}

TEST_CASE("a pattern is found anywhere and case matters unless it says else") {
  check_rows(pattern_answer{"H2O"}, {{"It is H2O.", true}, {"h2o", false}});
  check_rows(pattern_answer{"(?i)^h2o$"}, {{"H2O", true}, {"It is H2O", false}});
}

TEST_CASE("answers that differ in space and case only are the same answer") {
  CHECK(normalise("  The\n answer.") == "the answer");
  CHECK(normalise(" \n ") == "");
}

} // namespace assay::qualification
