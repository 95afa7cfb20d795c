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

TEST_CASE("characters are counted, not bytes") {
  CHECK(width("é…x") == 3);
  CHECK(draw_table({{"A", "B"}, {"é", "1"}, {"ee", "2"}}, 0) == "A   B\né   1\nee  2\n");
}

TEST_CASE("times are shown in UTC") {
  CHECK(date_text(1'767'225'599'999) == "2025-12-31 23:59:59");
}

} // namespace assay::cli
