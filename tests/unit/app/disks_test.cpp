// When a leader hands over because its disk got slow.

#include "src/app/disks.hpp"
#include "src/base/peer_limits.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::app {

namespace {

using namespace std::chrono_literals;
constexpr steady_time begun{1h};
constexpr auto slow = limits::slow_sync + 1ms;
constexpr auto fast = slow / limits::slow_sync_factor;

} // namespace

TEST_CASE("a slow leader hands over to the fastest voter, and a fast one to nobody") {
  CHECK(faster_voter(slow, {{2, fast}, {3, fast - 1ms}}) == 3);
  CHECK(faster_voter(limits::slow_sync, {{2, 1ms}}) == 0);
  CHECK(faster_voter(slow, {{2, fast}}) == 2);
  CHECK(faster_voter(slow, {{2, fast + 1ms}}) == 0);
  CHECK(faster_voter(slow, {}) == 0);
}

TEST_CASE("a voter of whose disk nothing is known is not thought to be faster") {
  CHECK(faster_voter(slow, {{2, 0ms}}) == 0);
}

TEST_CASE("a leader hands over once, and again only after a rest") {
  slow_disk_watch w;
  CHECK(w.look(begun, 1ms, {{2, 1ms}}) == 0);
  CHECK(w.look(begun, slow, {{2, 1ms}}) == 2);
  CHECK(w.look(begun + limits::slow_disk_rest - 1ns, slow, {{2, 1ms}}) == 0);
  CHECK(w.look(begun + limits::slow_disk_rest, slow, {{2, 1ms}}) == 2);
}

TEST_CASE("a slow disk is told with whose it is and how slow") {
  CHECK(slow_disk_text("b", limits::slow_sync).empty());
  auto text = slow_disk_text("b", slow);
  CHECK(text.starts_with("the disk of b takes 201 ms"));
  CHECK(text.find("up to 200 ms") != std::string::npos);
}

} // namespace assay::app
