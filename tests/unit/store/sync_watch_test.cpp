// How long syncs take of late.

#include "src/base/peer_limits.hpp"
#include "src/store/sync_watch.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::store {

namespace {

using namespace std::chrono_literals;
constexpr sync_watch::time begun{1h};

} // namespace

TEST_CASE("one sync that took long says nothing, and most of the last seconds do") {
  sync_watch w;
  auto at = begun;
  for (auto took : {1ms, 900ms, 2ms, 2ms})
    w.note(at += limits::sync_look, took);
  CHECK(w.middle() == 2ms);
  for (int i = 0; i < 5; ++i)
    w.note(at += limits::sync_look, 900ms);
  CHECK(w.middle() == 900ms);
}

TEST_CASE("what is older than the window counts no more, and too few say nothing") {
  sync_watch w;
  w.note(begun, 900ms);
  w.note(begun + limits::sync_look, 900ms);
  CHECK(w.middle() == 0ms);
  w.note(begun + 2 * limits::sync_look, 900ms);
  CHECK(w.middle() == 900ms);
  auto later = begun + 2 * limits::sync_look + limits::sync_window;
  w.note(later, 1ms); // The third is in the window still, the first two are not.
  CHECK(w.middle() == 0ms);
  w.note(later + limits::sync_look, 1ms);
  w.note(later + 2 * limits::sync_look, 1ms);
  CHECK(w.middle() == 1ms);
}

TEST_CASE("a disk that nothing was written to of late is not known to be slow") {
  CHECK(fresh(900ms, begun, begun + limits::sync_window) == 900ms);
  CHECK(fresh(900ms, begun, begun + limits::sync_window + 1ns) == 0ms);
}

} // namespace assay::store
