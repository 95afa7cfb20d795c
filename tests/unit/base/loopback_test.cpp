#include "src/base/loopback.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay {

TEST_CASE("a process has one loopback, of its boot and its network namespace") {
  CHECK(own_loopback() == own_loopback());
  auto slash = own_loopback().find('/');
  REQUIRE(slash != std::string::npos);
  CHECK(slash == 36); // A UUID.
  CHECK(own_loopback().find_first_not_of("0123456789", slash + 1) == std::string::npos);
  CHECK(own_loopback().size() > slash + 1);
}

TEST_CASE("an address of every machine's own is told from one that others reach") {
  for (const auto* own : {"127.0.0.1", "127.255.0.9", "0.0.0.0", "::1", "::"})
    CHECK(is_loopback_address(own));
  for (const auto* other : {"10.0.0.1", "128.0.0.1", "12.7.0.0", "fd00::1"})
    CHECK_FALSE(is_loopback_address(other));
}

} // namespace assay
