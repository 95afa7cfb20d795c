#include "src/pool/placement.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::pool {

namespace {

host_room room(std::string host, std::vector<std::string> free, std::uint32_t devices = 4) {
  return {.host = {std::move(host)}, .free_devices = std::move(free), .devices = devices};
}

launch needs(std::uint32_t devices, std::uint64_t memory = 0) {
  return {.devices = devices, .memory_bytes = memory};
}

} // namespace

TEST_CASE("a replica gets all its devices on one host or none") {
  auto split = std::vector{room("a", {"0"}), room("b", {"1"})};
  CHECK_FALSE(place(needs(2), split));
  CHECK(
    place(needs(2), split).error() == "a replica needs 2 free devices on one host, the freest has 1"
  );
  split.push_back(room("c", {"4", "5"}));
  auto where = place(needs(2), split);
  REQUIRE(where);
  CHECK(where->host.value == "c");
  CHECK(where->devices == std::vector<std::string>{"4", "5"});
}

TEST_CASE("a replica larger than every host is told so") {
  CHECK(
    place(needs(8), {room("a", {"0"})}).error()
    == "a replica needs 8 devices on one host, the largest has 4"
  );
  CHECK(place(needs(1), {}).error() == "no host of the pool is connected and open to new replicas");
}

TEST_CASE("replicas of one implementation spread over hosts") {
  auto crowded = room("a", {"0", "1"});
  crowded.replicas = 1;
  CHECK(place(needs(1), {crowded, room("b", {"0"})})->host.value == "b");
}

TEST_CASE("a host that has the artifact comes before one that must fetch it") {
  auto ready = room("b", {"0", "1"});
  ready.verified = true;
  CHECK(place(needs(1), {room("a", {"0"}), ready})->host.value == "b");
}

TEST_CASE("small replicas fill the fullest host, so that large ones keep a place") {
  CHECK(place(needs(1), {room("a", {"0", "1", "2"}), room("b", {"0"})})->host.value == "b");
}

TEST_CASE("a host with just enough memory takes a replica and one byte less refuses it") {
  auto host = room("a", {});
  host.memory_free = 1'000;
  CHECK(place(needs(0, 1'000), {host}));
  CHECK_FALSE(place(needs(0, 1'001), {host}));
}

TEST_CASE("a host that does not state its memory is not refused for it") {
  CHECK(place(needs(0, 1'000'000), {room("a", {})}));
}

} // namespace assay::pool
