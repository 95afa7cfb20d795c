#include "src/base/uuid.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay {

TEST_CASE("a UUIDv7 carries its time first, then version and variant (RFC 9562, 5.7)") {
  auto id =
    make_uuid7(0x017F22E279B0, {0x7c, 0xc3, 0x98, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f});
  CHECK(to_text(id) == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
}

TEST_CASE("later UUIDs sort after earlier ones") {
  CHECK(make_uuid7(1, {}) < make_uuid7(2, {}));
}

TEST_CASE("a UUID is read back, and a malformed one is not") {
  auto id = new_uuid7();
  auto text = to_text(id);
  CHECK(parse_uuid(text) == id);
  CHECK_FALSE(parse_uuid(text.substr(1)));
  text[8] = '0';
  CHECK_FALSE(parse_uuid(text));
}

} // namespace assay
