#include "src/catalog/units.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::catalog {

namespace {

using namespace std::chrono_literals;

bool mentions(const value_error& e, std::string_view part) {
  return (e.what + "; " + e.next).find(part) != std::string::npos;
}

} // namespace

TEST_CASE("sizes are exact in their units") {
  const std::pair<const char*, std::uint64_t> table[] = {
    {"0 B", 0},
    {"512 B", 512},
    {"1 KiB", 1024},
    {"64 MiB", 64ull << 20},
    {"10 MB", 10'000'000},
    {"1 kB", 1'000},
    {"1.5 GiB", 3ull << 29},
    {"64MiB", 64ull << 20},
    {"  2 TiB  ", 2ull << 40},
  };
  for (const auto& [text, bytes] : table) {
    const auto read = parse_bytes(text);
    INFO(text);
    REQUIRE(read);
    CHECK(*read == bytes);
  }
}

TEST_CASE("a size without a unit, with a wrong one, or that is none is refused with the units") {
  for (const auto* bad :
       {"64",
        "64 s",
        "64 mib",
        "64 Mib",
        "MiB",
        "",
        "-1 B",
        "1.2.3 B",
        "1. KiB",
        ".5 KiB",
        "0.3 B",
        "1e3 B",
        "1_000 B",
        "1,000 B",
        "99999999999999999999 B",
        "9000000 TiB",
        "0x10 B",
        "64 MiB s"}) {
    const auto read = parse_bytes(bad);
    INFO(bad);
    REQUIRE_FALSE(read);
    CHECK(mentions(read.error(), "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"));
  }
}

TEST_CASE("durations are exact in their units") {
  CHECK(*parse_duration("300 ms") == 300ms);
  CHECK(*parse_duration("10 s") == 10s);
  CHECK(*parse_duration("1.5 s") == 1'500ms);
  CHECK(*parse_duration("5 min") == 5min);
  CHECK(*parse_duration("2 h") == 2h);
  CHECK(*parse_duration("90 d") == 24h * 90);
  for (const auto* bad : {"10", "5 m", "5 sec", "0.1 ms", "1 w", "forever"}) {
    INFO(bad);
    REQUIRE_FALSE(parse_duration(bad));
    CHECK(mentions(parse_duration(bad).error(), "ms, s, min, h, d"));
  }
}

TEST_CASE("a share reaches 100 % and no further") {
  CHECK(*parse_share("95 %") == 950'000);
  CHECK(*parse_share("95%") == 950'000);
  CHECK(*parse_share("99.9999 %") == 999'999);
  CHECK(*parse_share("100 %") == 1'000'000);
  CHECK(*parse_share("0 %") == 0);
  for (const auto* bad : {"100.0001 %", "0.95", "95", "95 percent", "99.99999 %", "-1 %"})
    CHECK_FALSE(parse_share(bad));
}

TEST_CASE("a price keeps nine decimals and its currency") {
  CHECK(*parse_money("0.002 EUR") == money{2'000'000, "EUR"});
  CHECK(*parse_money("0.000000001 USD") == money{1, "USD"});
  CHECK(*parse_money("3 CHF") == money{3'000'000'000, "CHF"});
  for (const auto* bad :
       {"0.002",
        "0.002 eur",
        "0.002 EURO",
        "EUR 0.002",
        "0.0000000001 EUR",
        "$3",
        "9999999999999 EUR"})
    CHECK_FALSE(parse_money(bad));
}

TEST_CASE("a count is digits and nothing else") {
  CHECK(*parse_count("0") == 0);
  CHECK(*parse_count("4096") == 4096);
  for (const auto* bad :
       {"",
        "-1",
        "+1",
        "1.0",
        "1e3",
        "0x10",
        "4096 tokens",
        "4_096",
        " 4",
        "9223372036854775808",
        "99999999999999999999999"})
    CHECK_FALSE(parse_count(bad));
}

TEST_CASE("only true and false are truth values, since yes and on mean text elsewhere") {
  CHECK(*parse_flag("true"));
  CHECK_FALSE(*parse_flag("false"));
  for (const auto* bad : {"yes", "on", "True", "1", ""})
    CHECK_FALSE(parse_flag(bad));
}

TEST_CASE("quantities are written in the largest unit that is exact") {
  CHECK(bytes_text(64ull << 20) == "64 MiB");
  CHECK(bytes_text(10'000'000) == "10 MB");
  CHECK(bytes_text(1'025) == "1025 B");
  CHECK(bytes_text(0) == "0 B");
  CHECK(duration_text(24h * 90) == "90 d");
  CHECK(duration_text(1'500ms) == "1500 ms");
  CHECK(share_text(999'999) == "99.9999 %");
  CHECK(share_text(950'000) == "95 %");
  CHECK(share_text(1) == "0.0001 %");
  CHECK(money_text({2'000'000, "EUR"}) == "0.002 EUR");
}

} // namespace assay::catalog
