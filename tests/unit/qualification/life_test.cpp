#include "src/qualification/life.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::qualification {

TEST_CASE("no event makes a qualification qualified but a pass and a renewed pass") {
  for (auto from : states)
    for (auto what : events)
      if (next(from, what) == state::qualified)
        CHECK((what == event::pass || what == event::reverify_pass));
}

TEST_CASE("exactly the rejected, expired, revoked and superseded are final") {
  for (auto s : states) {
    const bool expected =
      s == state::rejected || s == state::expired || s == state::revoked || s == state::superseded;
    CHECK(is_final(s) == expected);
  }
}

TEST_CASE("an inconclusive evaluation may be evaluated again or given up, and nothing else") {
  for (auto what : events) {
    const bool allowed = what == event::more_runs || what == event::give_up;
    CHECK(next(state::inconclusive, what).has_value() == allowed);
  }
}

TEST_CASE("drift suspends what is qualified and cannot touch what is not") {
  CHECK(next(state::qualified, event::drift) == state::suspended);
  CHECK_FALSE(next(state::evaluating, event::drift));
  CHECK_FALSE(next(state::suspended, event::drift));
}

TEST_CASE("every state and event is read back from its name") {
  for (auto s : states)
    CHECK(parse_state(name(s)) == s);
  for (auto e : events)
    CHECK(parse_event(name(e)) == e);
  CHECK_FALSE(parse_state("QUALIFIED"));
}

} // namespace assay::qualification
