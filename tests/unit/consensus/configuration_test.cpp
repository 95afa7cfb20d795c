#include "src/consensus/configuration.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::consensus {

namespace {

configuration members(std::size_t count) {
  configuration out;
  for (std::size_t i = 1; i <= count; ++i)
    out.push_back({i, "host-" + std::to_string(i) + ":7104", member_role::voter});
  return out;
}

} // namespace

TEST_CASE("a configuration survives its encoding, up to the largest one") {
  for (std::size_t count : {std::size_t{1}, std::size_t{3}, members_max}) {
    auto decoded = decode_configuration(encode(members(count)));
    REQUIRE(decoded);
    CHECK(*decoded == members(count));
  }
  CHECK_FALSE(decode_configuration(encode(members(members_max + 1))));
}

TEST_CASE("bytes that lie about their content are refused, whatever they are cut to") {
  auto whole = encode(members(3));
  // Only padding may be missing.
  for (std::size_t size = 0; size + 8 <= whole.size(); ++size)
    CHECK_FALSE(decode_configuration(std::string_view{whole}.substr(0, size)));
  auto other_format = whole;
  other_format[0] = 2;
  CHECK_FALSE(decode_configuration(other_format));
  auto counts_more = whole;
  counts_more[1] = 4;
  CHECK_FALSE(decode_configuration(counts_more));
  auto counts_none = whole;
  counts_none[1] = 0;
  CHECK_FALSE(decode_configuration(counts_none));
  CHECK_FALSE(decode_configuration(whole + std::string(8, '\0')));
}

TEST_CASE("two members with one id or one address are refused") {
  CHECK_FALSE(decode_configuration(encode({{1, "a"}, {1, "b"}})));
  CHECK_FALSE(decode_configuration(encode({{1, "a"}, {2, "a"}})));
  CHECK_FALSE(decode_configuration(encode({{0, "a"}})));
}

} // namespace assay::consensus
