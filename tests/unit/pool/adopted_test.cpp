// Servers that somebody else started: where they are watched, and what their end means.

#include "src/base/limits.hpp"
#include "tests/unit/pool/pool_stage.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::pool {

using namespace test;

namespace {

wanted_implementation server_on(std::string host) {
  auto w = wanted("m/p/adopted");
  w.adopted = true;
  w.only_on = host_id{std::move(host)};
  return w;
}

} // namespace

TEST_CASE("an adopted server is watched on its own host, and on no other") {
  pool_stage stage;
  stage.step(wanted_changed{{server_on("theirs")}});
  stage.host("another");
  CHECK(stage.all<start_replica>().empty());
  stage.host("theirs");
  CHECK(stage.one<start_replica>().host.value == "theirs");
}

TEST_CASE("an adopted server that ends is looked for again, however often it ends") {
  pool_stage stage;
  auto watched = stage.ready(server_on("h"));
  for (int times = 0; times < 2 * static_cast<int>(limits::crash_restarts); ++times) {
    stage.step(stage.report(watched, phase::gone));
    CHECK(stage.all<start_replica>().empty());
    stage.pass(limits::crash_pause_most);
    watched = stage.one<start_replica>();
    stage.step(stage.report(watched, phase::loading));
  }
  CHECK_FALSE(stage.view().implementations.at(0).given_up);
}

} // namespace assay::pool
