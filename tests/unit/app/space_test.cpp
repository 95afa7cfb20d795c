// When a person is told that room for the ledger runs short.

#include "src/app/space.hpp"
#include "src/base/limits.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::app {

namespace {

using namespace std::chrono_literals;
constexpr reader_watch::time begun{1h};
constexpr std::int64_t own = 7, other = 8;

} // namespace

TEST_CASE("a read of another process is forgotten after its time, and not a second earlier") {
  reader_watch w{own};
  w.look({{other, 5}}, begun);
  w.look({{other, 5}}, begun + reader_watch::forgotten_after - 1s);
  CHECK(w.forgotten().empty());
  w.look({{other, 5}}, begun + reader_watch::forgotten_after);
  REQUIRE(w.forgotten().size() == 1);
  CHECK(w.forgotten()[0].process == other);
  CHECK(w.forgotten()[0].age == reader_watch::forgotten_after);
  w.look({}, begun + 1h);
  CHECK(w.forgotten().empty());
}

TEST_CASE("a process that reads again and again has forgotten nothing") {
  reader_watch w{own};
  for (int i = 0; i < 100; ++i)
    w.look({{other, 5U + static_cast<unsigned>(i)}}, begun + i * 1s);
  CHECK(w.forgotten().empty());
}

TEST_CASE("our own reads are never called forgotten, and a process with many is named once") {
  reader_watch w{own};
  for (auto at : {begun, begun + 1min})
    w.look({{own, 1}, {other, 2}, {other, 3}}, at);
  CHECK(w.forgotten().size() == 1);
}

TEST_CASE("address space is told of above its alarm, and above its limit that nothing is taken") {
  store::engine_status now;
  now.state_map_percent = map_alarm_percent;
  CHECK(map_text(now).empty());
  now.log_map_percent = map_alarm_percent + 1;
  CHECK(map_text(now).find("61 %") == 0);
  CHECK(map_text(now).find("nothing would be taken") != std::string::npos);
  now.log_map_percent = limits::map_use_percent + 1;
  CHECK(map_text(now).find("nothing is taken any more") != std::string::npos);
}

} // namespace assay::app
