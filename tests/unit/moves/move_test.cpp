#include "src/moves/move.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::moves {

TEST_CASE("from authorised to observing a move can always be turned back, and only there") {
  for (auto s : states) {
    const bool expected = s == state::authorised || s == state::staged || s == state::ramping
                          || s == state::holding || s == state::observing;
    CHECK((next(s, event::abort) == state::reverting) == expected);
  }
}

TEST_CASE("a move is cancelled only while no weight was changed") {
  for (auto s : states) {
    const bool expected = s == state::proposed || s == state::authorised || s == state::staged;
    CHECK(next(s, event::cancel).has_value() == expected);
  }
}

TEST_CASE("nothing is committed but what was observed") {
  for (auto s : states)
    for (auto e : events)
      if (next(s, e) == state::committed) {
        CHECK(s == state::observing);
        CHECK(e == event::confirm);
      }
}

TEST_CASE("a move that failed to revert is open until a person put a vector in place") {
  CHECK(is_open(state::revert_failed));
  CHECK(next(state::revert_failed, event::manual_vector) == state::reverting);
  for (auto e : events)
    CHECK((e == event::manual_vector || !next(state::revert_failed, e)));
}

TEST_CASE("exactly committed, denied, cancelled and reverted are final") {
  for (auto s : states) {
    const bool expected =
      s == state::committed || s == state::denied || s == state::cancelled || s == state::reverted;
    CHECK(is_final(s) == expected);
  }
}

TEST_CASE("every state and event of a move is read back from its name") {
  for (auto s : states)
    CHECK(parse_state(name(s)) == s);
  for (auto e : events)
    CHECK(parse_event(name(e)) == e);
  CHECK_FALSE(parse_event("roll back"));
}

} // namespace assay::moves
