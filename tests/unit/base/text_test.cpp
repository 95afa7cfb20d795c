#include "src/base/limits.hpp"
#include "src/base/text.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay {

TEST_CASE("text is UTF-8 in its shortest form, without surrogates, up to the last code point") {
  for (const auto* good :
       {"",
        "plain",
        "\x7f",
        "\xc2\x80",
        "\xe0\xa0\x80",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
        "\xf0\x90\x80\x80",
        "\xf4\x8f\xbf\xbf",
        "na\xc3\xafve"})
    CHECK(is_utf8(good));
  for (const auto* bad :
       {"\x80",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc3",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "a\xff",
        "\xe2\x82",
        "\xc3("})
    CHECK_FALSE(is_utf8(bad));
}

TEST_CASE("a byte that is no text is found wherever it stands") {
  for (std::size_t size = 1; size <= 20; ++size)
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'x');
      text[at] = '\x80';
      CAPTURE(size, at);
      CHECK_FALSE(is_utf8(text));
      CHECK(is_utf8(text.substr(0, at)));
    }
}

TEST_CASE("a line of the limit is told whole, and a longer one without its middle") {
  std::string fits(limits::told_line_bytes, 'x');
  CHECK(shortened(fits) == fits);
  auto told = shortened("begin " + std::string(1 << 20, 'x') + " end");
  CHECK(told.size() < limits::told_line_bytes);
  CHECK(told.starts_with("begin "));
  CHECK(told.ends_with(" end"));
  CHECK(told.find("bytes left out") != std::string::npos);
}

TEST_CASE("what is told of a long line is whole characters") {
  std::string text;
  for (int i = 0; i < 2'000; ++i)
    text += "\xe2\x82\xac";
  for (auto odd : {"", "a", "ab"})
    CHECK(is_utf8(shortened(odd + text)));
}

TEST_CASE("each of many lines is told, and what is too much for all of them together is counted") {
  std::string line(limits::told_line_bytes - 1, 'x');
  auto two = line + "\n" + line;
  CHECK(shortened(two) == two);
  std::string many;
  for (std::size_t i = 0; i < 2 * limits::told_bytes / line.size(); ++i)
    many += line + "\n";
  auto told = shortened(many);
  CHECK(told.size() <= limits::told_bytes + 100);
  CHECK(told.ends_with("more bytes left out)"));
}

} // namespace assay
