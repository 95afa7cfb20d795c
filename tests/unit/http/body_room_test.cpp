#include "src/base/limits.hpp"
#include "src/http/body_room.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::http {

namespace {

using namespace std::chrono_literals;

const auto noon = steady_time{} + 12h;

} // namespace

TEST_CASE("memory for bodies is full with its last byte, and free again after the last holder") {
  body_room room{100};
  body_budget first{room};
  CHECK(first.hold(60));
  CHECK(first.hold(40)); // Less than it holds already.
  CHECK(room.held() == 60);
  {
    body_budget second{room};
    CHECK_FALSE(second.hold(41));
    CHECK(room.held() == 60);
    CHECK(second.hold(40));
    CHECK_FALSE(first.hold(61));
  }
  CHECK(first.hold(100));
  first.release();
  first.release();
  CHECK(room.held() == 0);
}

TEST_CASE("who finds no room comes back when what is missing is likely to be let go of") {
  body_room room{1'000};
  body_budget stays{room};
  stays.hold(1'000);
  CHECK(room.wait_for(500) == limits::retry_after_default); // Nothing was measured yet.
  room.pass(noon);
  CHECK(room.wait_for(500) == limits::retry_after_default);
  stays.release();
  for (int i = 0; i < 10; ++i) {
    body_budget passing{room};
    passing.hold(100);
  }
  room.pass(noon + 10s); // 2,000 bytes in ten seconds.
  stays.hold(1'000);
  CHECK(room.wait_for(1) == 1s);
  CHECK(room.wait_for(200) == 1s);
  CHECK(room.wait_for(201) == 2s);
  CHECK(room.wait_for(1'000) == 5s);
  CHECK(room.wait_for(1'000'000) == limits::retry_after_max);
}

TEST_CASE("memory that nobody lets go of any more promises less and less") {
  body_room room{1'000};
  room.pass(noon);
  {
    body_budget once{room};
    once.hold(1'000);
  }
  room.pass(noon + 1s);
  body_budget stays{room};
  stays.hold(1'000);
  CHECK(room.wait_for(1'000) == 1s);
  for (int i = 2; i < 6; ++i)
    room.pass(noon + std::chrono::seconds{i});
  CHECK(room.wait_for(1'000) > 1s);
}

} // namespace assay::http
