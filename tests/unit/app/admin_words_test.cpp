#include "src/app/admin/admin.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::app::admin {

TEST_CASE("a flag of a request is true or false or refused, and false when it is not there") {
  CHECK(flag_at({{"dry_run", true}}, "dry_run").value());
  CHECK_FALSE(flag_at({{"dry_run", false}}, "dry_run").value());
  CHECK_FALSE(flag_at({}, "dry_run").value());
  for (const auto& wrong : {json::value("true"), json::value(1), json::value(nullptr)}) {
    auto read = flag_at({{"dry_run", wrong}}, "dry_run");
    REQUIRE_FALSE(read);
    CHECK(read.error().where == "dry_run");
  }
}

} // namespace assay::app::admin
