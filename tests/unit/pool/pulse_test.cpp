#include "src/pool/pulse.hpp"

#include <catch2/catch_test_macros.hpp>

#include <utility>

namespace assay::pool {

namespace {

using namespace std::chrono_literals;

const auto noon = steady_time{} + 12h;

} // namespace

TEST_CASE("a request waits until its first content, then streams, and then is gone") {
  pulse p;
  CHECK_FALSE(p.look().is_busy());
  {
    request_at r{p, 300ms, noon};
    CHECK(p.look().waiting == 1);
    CHECK(p.look().streaming == 0);
    CHECK(p.look().owed == 300ms);
    r.moved(noon + 1s);
    CHECK(p.look().waiting == 0);
    CHECK(p.look().streaming == 1);
    CHECK(p.look().owed == 0us);
    CHECK(p.look().moved == noon + 1s);
    r.moved(noon + 2s);
    CHECK(p.look().streaming == 1);
    CHECK(p.look().moved == noon + 2s);
  }
  CHECK_FALSE(p.look().is_busy());
  CHECK(p.look().moved == noon + 2s); // Leaving is no sign of life.
}

TEST_CASE("silence begins with the first request, and another one does not end it") {
  pulse p;
  request_at first{p, 1s, noon};
  request_at second{p, 2s, noon + 5s};
  CHECK(p.look().moved == noon);
  CHECK(p.look().owed == 3s);
  first.leave();
  second.leave();
  second.leave();
  CHECK(p.look().owed == 0us);
  request_at third{p, 1s, noon + 9s};
  CHECK(p.look().moved == noon + 9s);
}

TEST_CASE("a request that is handed on counts once") {
  pulse here;
  pulse there;
  request_at one{here, 1s, noon};
  request_at two = std::move(one);
  CHECK(here.look().waiting == 1);
  two = request_at{there, 2s, noon}; // Sent elsewhere.
  CHECK_FALSE(here.look().is_busy());
  CHECK(there.look().owed == 2s);
  request_at nothing;
  nothing.moved(noon);
  two = std::move(nothing);
  CHECK_FALSE(there.look().is_busy());
}

} // namespace assay::pool
