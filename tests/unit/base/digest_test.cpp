#include "src/base/digest.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay {

TEST_CASE("SHA-256 gives FIPS 180-4's example digest") {
  CHECK(
    to_text(sha256("abc"))
    == "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
  );
}

TEST_CASE("a digest survives being written and read, in either case and without its prefix") {
  auto d = sha256("x");
  auto text = to_text(d);
  CHECK(parse_digest(text) == d);
  CHECK(parse_digest(text.substr(7)) == d);
  for (auto& c : text)
    c = static_cast<char>(std::toupper(c));
  CHECK(parse_digest(text.substr(7)) == d);
}

TEST_CASE("a digest that is one digit short, long or wrong is not read") {
  auto hex = to_text(sha256("x")).substr(7);
  CHECK_FALSE(parse_digest(hex.substr(1)));
  CHECK_FALSE(parse_digest(hex + "0"));
  hex[5] = 'g';
  CHECK_FALSE(parse_digest(hex));
  CHECK_FALSE(parse_digest(""));
}

TEST_CASE("moving a byte from one field to the next changes the digest") {
  auto first = hasher{"d"}.add_field("ab").add_field("c").finish();
  auto second = hasher{"d"}.add_field("a").add_field("bc").finish();
  CHECK(first != second);
}

} // namespace assay
