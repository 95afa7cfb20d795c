// Which devices are offered, and why the others are not.

#include "node-agent/families/device_book.hpp"
#include "src/base/device_limits.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::agent {

namespace {

using fabric::device_state;

constexpr std::uint64_t gib = 1ULL << 30;
const std::string pci_a = "0000:65:00.0", pci_b = "0000:66:00.0";

probed_device card(const std::string& id, const std::string& pci) {
  return {.id = id, .pci = pci, .name = "H100", .memory_bytes = 80 * gib, .used_bytes = 0};
}

family_look two() {
  family_look look;
  look.devices = {card("GPU-a", pci_a), card("GPU-b", pci_b)};
  look.stack = {{"nvidia.driver", "550"}};
  look.samples = {{"nvidia", "power.draw", "mW", {}, "GPU-a", std::uint64_t{7}, {100}}};
  return look;
}

family_look with_lost_b() {
  auto look = two();
  look.devices[1] = {
    .id = pci_b, .pci = pci_b, .state = device_state::lost, .why = "NVML 15: GPU is lost"};
  return look;
}

probed_event xid(std::int64_t at, const std::string& device = "GPU-a") {
  return {{catalog::family::nvidia, device, "Xid", 79, "Xid 79", {at}}, "fallen off the bus"};
}

bool nobody(std::int64_t) {
  return false;
}
bool up_to_100(std::int64_t pid) {
  return pid <= 100;
}

struct scene {
  device_book book;

  explicit scene(environment inherited = {})
    : book{catalog::family::nvidia, std::move(inherited)} {}

  fabric::device of(const std::string& id) {
    for (const auto& d : book.devices())
      if (d.id == id)
        return d;
    return {.id = "none"};
  }
  std::string state(const std::string& id) {
    constexpr const char* names[] = {"offered", "withheld", "sick", "lost"};
    auto d = of(id);
    return d.id == "none" ? "none" : names[static_cast<int>(d.state)];
  }
};

} // namespace

TEST_CASE("what its library shows and nobody else uses is offered") {
  scene s;
  s.book.learn(two(), nobody);
  CHECK(s.state("GPU-a") == "offered");
  CHECK(s.of("GPU-a").memory_bytes == 80 * gib);
  CHECK(s.book.stack().at("nvidia.driver") == "550");
}

TEST_CASE("a device that is lost keeps its name and hides no other one") {
  scene s;
  s.book.learn(two(), nobody);
  s.book.learn(with_lost_b(), nobody);
  CHECK(s.state("GPU-a") == "offered");
  CHECK(s.state("GPU-b") == "lost");
  CHECK(s.of("GPU-b").why == "NVML 15: GPU is lost");
  CHECK(s.book.devices().size() == 2);
  s.book.learn(two(), nobody);
  CHECK(s.state("GPU-b") == "offered");
}

TEST_CASE("a device that its family no longer speaks of is lost") {
  scene s;
  s.book.learn(two(), nobody);
  auto look = two();
  look.devices.pop_back();
  s.book.learn(look, nobody);
  CHECK(s.state("GPU-b") == "lost");
  CHECK(s.state("GPU-a") == "offered");
}

TEST_CASE("one that was lost before it was ever shown goes by its address") {
  scene s;
  s.book.learn(with_lost_b(), nobody);
  CHECK(s.state(pci_b) == "lost");
}

TEST_CASE("a device on which somebody else computes is withheld, and one of ours is not") {
  auto look = two();
  look.devices[0].processes = {{50, 3 * gib}, {4711, 2 * gib}};
  look.devices[1].processes = {{60, 70 * gib}};
  look.devices[1].used_bytes = 75 * gib;
  scene s;
  s.book.learn(look, up_to_100);
  CHECK(s.state("GPU-a") == "withheld");
  CHECK(s.of("GPU-a").why == "somebody else computes on it: process 4711 with 2048 MiB");
  CHECK(s.state("GPU-b") == "offered");
}

TEST_CASE("memory that no process explains is somebody's, from a limit on") {
  for (auto more : {0, 1}) {
    auto look = two();
    look.devices[0].used_bytes = limits::foreign_memory_bytes + static_cast<std::uint64_t>(more);
    scene s;
    s.book.learn(look, nobody);
    CHECK(s.state("GPU-a") == (more ? "withheld" : "offered"));
  }
}

TEST_CASE("after an event a device is sick until the host is resumed, and by that event no more") {
  scene s;
  auto look = two();
  look.events = {xid(100)};
  s.book.learn(look, nobody);
  CHECK(s.state("GPU-a") == "sick");
  CHECK(s.of("GPU-a").why == "fallen off the bus");
  s.book.learn(two(), nobody);
  CHECK(s.state("GPU-a") == "sick");
  s.book.forgive({99});
  CHECK(s.state("GPU-a") == "sick");
  s.book.forgive({100});
  CHECK(s.state("GPU-a") == "offered");
  s.book.learn(look, nobody); // A child that was begun anew tells it again.
  CHECK(s.state("GPU-a") == "offered");
  look.events = {xid(101)};
  s.book.learn(look, nobody);
  CHECK(s.state("GPU-a") == "sick");
  CHECK(s.book.events().size() == 2);
}

TEST_CASE("an agent that starts after a resume does not hold old events against a device") {
  scene s;
  s.book.forgive({200});
  auto look = two();
  look.events = {xid(100)};
  s.book.learn(look, nobody);
  CHECK(s.state("GPU-a") == "offered");
  CHECK(s.book.events().size() == 1);
}

TEST_CASE("what a device says of itself is not forgiven") {
  auto look = two();
  look.devices[0].state = device_state::sick;
  look.devices[0].why = "NVML recovery action reset the GPU";
  scene s;
  s.book.learn(look, nobody);
  s.book.forgive({1'000});
  CHECK(s.state("GPU-a") == "sick");
}

TEST_CASE("a family that does not answer is stale after three times, and never shows a zero") {
  scene s;
  s.book.learn(two(), nobody);
  s.book.miss("it hangs");
  s.book.miss("it hangs");
  CHECK(s.state("GPU-a") == "offered");
  CHECK(telemetry::has_value(s.book.samples().at(0).reading));
  CHECK(s.book.samples().at(0).taken == wall_ms{100}); // As old as it is.
  s.book.miss("it hangs");
  CHECK(s.state("GPU-a") == "withheld");
  CHECK(s.of("GPU-a").why == "it hangs");
  CHECK(s.book.samples().at(0).reading == telemetry::reading{telemetry::unavailable{"it hangs"}});
  CHECK(s.book.stack().at("nvidia.driver") == "550");
  CHECK(s.book.events().size() == 1); // The same again and again is told once.
  s.book.learn(two(), nobody);
  CHECK(s.state("GPU-a") == "offered");
}

TEST_CASE("under a mask only its devices are spoken of, also when one of them is lost") {
  scene s{{{"CUDA_VISIBLE_DEVICES", "GPU-b"}}};
  s.book.learn(two(), nobody);
  REQUIRE(s.book.devices().size() == 1);
  CHECK(s.state("GPU-b") == "offered");
  s.book.learn(with_lost_b(), nobody);
  REQUIRE(s.book.devices().size() == 1);
  CHECK(s.state("GPU-b") == "lost");
}

TEST_CASE("a mask that cannot be understood offers nothing and says so, until it can be") {
  scene s{{{"CUDA_VISIBLE_DEVICES", "GPU-b"}}};
  s.book.learn(with_lost_b(), nobody);
  CHECK(s.book.devices().empty());
  REQUIRE(s.book.events().size() == 1);
  CHECK(s.book.events()[0].name == "no_devices");
  CHECK(s.book.events()[0].text.find("'GPU-b' names none") != std::string::npos);
  s.book.learn(two(), nobody);
  CHECK(s.state("GPU-b") == "offered");
}

TEST_CASE("the events that are kept are the newest, and no more than is allowed") {
  scene s;
  auto look = two();
  for (std::size_t i = 0; i < limits::device_events + 5; ++i)
    look.events.push_back(xid(static_cast<std::int64_t>(i)));
  s.book.learn(look, nobody);
  REQUIRE(s.book.events().size() == limits::device_events);
  CHECK(s.book.events().front().at == wall_ms{5});
}

TEST_CASE("nothing is bound to a device that is lost, sick or not ours") {
  catalog::runtime_profile profile;
  profile.devices[catalog::family::nvidia] = {"CUDA_VISIBLE_DEVICES", "uuid", ",", {}};
  scene s{{{"CUDA_VISIBLE_DEVICES", "GPU-b"}}};
  s.book.learn(two(), nobody);
  CHECK_FALSE(s.book.bind(profile, {"GPU-a"}));
  REQUIRE(s.book.bind(profile, {"GPU-b"}));
  s.book.learn(with_lost_b(), nobody);
  CHECK_FALSE(s.book.bind(profile, {"GPU-b"}));
}

} // namespace assay::agent
