#include "src/base/problem.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay {

TEST_CASE("each kind of problem keeps its exit code and status") {
  CHECK(exit_code(problem_kind::invalid) == 1);
  CHECK(exit_code(problem_kind::not_found) == 3);
  CHECK(exit_code(problem_kind::refused) == 4);
  CHECK(exit_code(problem_kind::unavailable) == 5);
  CHECK(http_status(problem_kind::exhausted) == 507);
  CHECK(name(problem_kind::exhausted) == "exhausted");
}

TEST_CASE("a problem reads as place, fact, advice") {
  problem p{
    problem_kind::invalid, "unknown key 'colour'", "pools.yaml:3", "allowed: family, hosts"};
  CHECK(to_text(p) == "pools.yaml:3: unknown key 'colour'; allowed: family, hosts");
  p.where.clear();
  p.next.clear();
  CHECK(to_text(p) == "unknown key 'colour'");
}

TEST_CASE("a value of a megabyte is not told back whole") {
  problem p{
    problem_kind::invalid, "'" + std::string(1 << 20, 'x') + "' is no name", "name", "letters"};
  auto text = to_text(p);
  CHECK(text.size() < 2'000);
  CHECK(text.ends_with("' is no name; letters"));
}

} // namespace assay
