#include "src/cli/terminal.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::cli {

TEST_CASE("columns are as wide as their widest cell, and lines end without spaces") {
  CHECK(
    draw_table({{"NAME", "STATE"}, {"a", "x"}, {"long-name", "y"}}, 0)
    == "NAME       STATE\n"
       "a          x\n"
       "long-name  y\n"
  );
}

TEST_CASE("a table that is too wide is cut in its widest column") {
  auto drawn = draw_table({{"NAME", "WHY"}, {"abc", "a very long sentence that does not fit"}}, 20);
  CHECK(
    drawn
    == "NAME  WHY\n"
       "abc   a very long s…\n"
  );
}

TEST_CASE("a table that just fits is not cut") {
  auto rows = std::vector<row>{{"NAME", "WHY"}, {"abc", "exactly so long"}};
  CHECK(draw_table(rows, 21).find("…") == std::string::npos);
  CHECK(draw_table(rows, 20).find("…") != std::string::npos);
}

TEST_CASE("a name is cut in its middle, a sentence at its end, a time not at all") {
  auto drawn = draw_table(
    {{"A", "NAME", "AT", "WHY"},
     {"a", "smollm2/local-cpu/smollm2-135m-q4", "2026-12-01T22:10:09Z", "it was not asked to end"}},
    52
  );
  CHECK(
    drawn
    == "A  NAME          AT                    WHY\n"
       "a  smollm…5m-q4  2026-12-01T22:10:09Z  it was not a…\n"
  );
}

TEST_CASE("a table fits every terminal that has three characters for each column") {
  std::vector<row> rows{
    {"NAME", "REPLICAS READY", "AT", "STATE"},
    {"a-name-of-some-length", "0", "2026-12-01T22:10:09Z", "suspended"}};
  for (std::size_t columns = 18; columns < 60; ++columns) {
    INFO(columns);
    auto drawn = draw_table(rows, columns);
    for (std::size_t at = 0; at < drawn.size();) {
      auto end = drawn.find('\n', at);
      CHECK(width(std::string_view{drawn}.substr(at, end - at)) <= columns);
      at = end + 1;
    }
  }
}

TEST_CASE("fields are never cut: a value that is too wide goes on below itself") {
  std::vector<row> rows{{"name", "x"}, {"why", "it was not asked to end"}, {"empty", ""}};
  CHECK(
    draw_fields(rows, 20)
    == "name   x\n"
       "why    it was not\n"
       "       asked to end\n"
       "empty\n"
  );
  CHECK(draw_fields(rows, 0) == "name   x\nwhy    it was not asked to end\nempty\n");
  CHECK(
    draw_fields({{"digest", "0123456789abcdefghij"}}, 18)
    == "digest  0123456789\n"
       "        abcdefghij\n"
  );
}

TEST_CASE("characters are counted, not bytes") {
  CHECK(width("é…x") == 3);
  CHECK(draw_table({{"A", "B"}, {"é", "1"}, {"ee", "2"}}, 0) == "A   B\né   1\nee  2\n");
}

TEST_CASE("times are shown in UTC") {
  CHECK(date_text(1'767'225'599'999) == "2025-12-31T23:59:59Z");
}

} // namespace assay::cli
