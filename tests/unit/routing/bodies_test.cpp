#include "src/routing/bodies.hpp"
#include "tests/unit/routing/site.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::routing {

using namespace assay::test;

TEST_CASE("the longest body is that of the most patient model that the caller may use") {
  snapshot_builder b{1};
  b.add(project{{"acme"}, {}});
  for (auto [name, bytes] : {std::pair{"short", 100U}, {"long", 900U}, {"longest", 5'000U}}) {
    routing::model m{.id = {name}, .name = name};
    m.promises.limits.body_bytes = bytes;
    b.add(m);
  }
  b.add(sha256(std::string_view{"s"}), {.id = {"k"}, .models = {"short", "long"}}, {"acme"});
  b.add(sha256(std::string_view{"t"}), {.id = {"all"}}, {"acme"});
  b.add(sha256(std::string_view{"u"}), {.id = {"none"}, .models = {"gone"}}, {"acme"});
  auto s = b.build();
  CHECK(longest_body(*s, caller_of(*s, s->keys()[0])) == 900);
  CHECK(longest_body(*s, caller_of(*s, s->keys()[1])) == 5'000);
  CHECK(longest_body(*s, caller_of(*s, s->keys()[2])) == 0);
}

TEST_CASE("one model without a limit of its own takes any body") {
  site s;
  s.add("a");
  s.model.promises.limits.body_bytes = 0;
  const auto& snapshot = s.build();
  CHECK(longest_body(snapshot, s.query().caller) == 0);
}

} // namespace assay::routing
