// Which devices an agent may give out, and how a replica is told its own.

#include "node-agent/families/device_mask.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <random>
#include <set>

namespace assay::agent {

namespace {

using catalog::family;

/// As NVML counts them: by the bus.
std::vector<probed_device> cards(const std::vector<std::string>& names) {
  std::vector<probed_device> all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto number = std::to_string(i);
    all.push_back(
      {.id = "GPU-" + number + "aaa", .pci = "0000:6" + number + ":00.0", .name = names[i]}
    );
  }
  return all;
}

std::vector<probed_device> four() {
  return cards({"H100", "H100", "H100", "H100"});
}

std::string visible(const environment& inherited, const std::vector<probed_device>& all = four()) {
  auto seen = visible_devices(family::nvidia, inherited, all);
  if (!seen)
    return "refused: " + seen.error().what;
  std::string text;
  for (const auto& id : *seen)
    text += (text.empty() ? "" : " ") + id;
  return text;
}

catalog::runtime_profile
profile(const std::string& identifier, const std::string& separator = ",") {
  catalog::runtime_profile made;
  made.id = {"engine"};
  made.devices[family::nvidia] = {"CUDA_VISIBLE_DEVICES", identifier, separator, {}};
  return made;
}

} // namespace

TEST_CASE("the inherited mask is the universe, by number, by UUID or by the beginning of one") {
  CHECK(visible({}) == "GPU-0aaa GPU-1aaa GPU-2aaa GPU-3aaa");
  CHECK(visible({{"CUDA_VISIBLE_DEVICES", "2,0"}}) == "GPU-2aaa GPU-0aaa");
  CHECK(visible({{"CUDA_VISIBLE_DEVICES", " 1 , 1 "}}) == "GPU-1aaa");
  CHECK(visible({{"CUDA_VISIBLE_DEVICES", "GPU-3aaa"}}) == "GPU-3aaa");
  CHECK(visible({{"CUDA_VISIBLE_DEVICES", "GPU-1"}}) == "GPU-1aaa");
  CHECK(visible({{"SLURM_JOB_GPUS", "1"}}) == "GPU-0aaa GPU-1aaa GPU-2aaa GPU-3aaa");
}

TEST_CASE("a mask that leaves nothing, or names what is not there, gives nothing and says why") {
  for (const auto* value : {"", "-1", "NoDevFiles", "none"})
    CHECK(
      visible({{"CUDA_VISIBLE_DEVICES", value}}).find("it leaves no device") != std::string::npos
    );
  for (const auto* value : {"4", "0,9", "GPU-9", "GPU-", "x", "0,,1", "1.5"}) {
    INFO(value);
    CHECK(visible({{"CUDA_VISIBLE_DEVICES", value}}).starts_with("refused: "));
    CHECK(
      visible({{"CUDA_VISIBLE_DEVICES", value}}).find("names none of the 4") != std::string::npos
    );
  }
}

TEST_CASE("numbers are taken where their order is known, since CUDA counts the fastest first") {
  auto mixed = cards({"H100", "A100"});
  CHECK(
    visible({{"CUDA_VISIBLE_DEVICES", "0"}}, mixed).find("count the fastest") != std::string::npos
  );
  CHECK(visible({{"CUDA_VISIBLE_DEVICES", "GPU-0"}}, mixed) == "GPU-0aaa");
  CHECK(
    visible({{"CUDA_VISIBLE_DEVICES", "1"}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}, mixed)
    == "GPU-1aaa"
  );
}

TEST_CASE("a device that is on the bus only has no number") {
  auto all = four();
  all.insert(
    all.begin(), {.id = "0000:05:00.0", .pci = "0000:05:00.0", .state = fabric::device_state::lost}
  );
  CHECK(visible({{"CUDA_VISIBLE_DEVICES", "0"}}, all) == "GPU-0aaa");
}

TEST_CASE("a second mask counts in what the first one left") {
  auto all = four();
  auto seen = [&](const environment& inherited) {
    return visible_devices(family::amd, inherited, all);
  };
  auto both = seen({{"ROCR_VISIBLE_DEVICES", "2,3"}, {"HIP_VISIBLE_DEVICES", "1"}});
  REQUIRE(both);
  CHECK(*both == std::vector<std::string>{"GPU-3aaa"});
  CHECK_FALSE(seen({{"ROCR_VISIBLE_DEVICES", "2,3"}, {"HIP_VISIBLE_DEVICES", "2"}}));
}

TEST_CASE("whatever the mask, what it leaves is among the devices, and each once") {
  std::mt19937 chance{20261203};
  auto all = four();
  const char* entries[] = {"0", "1", "3", "GPU-2aaa", "GPU-0", "7", "", "GPU-x"};
  for (auto n = 0; n < 500; ++n) {
    std::string mask;
    for (auto i = chance() % 5; i > 0; --i)
      mask += (mask.empty() ? "" : ",") + std::string{entries[chance() % std::size(entries)]};
    auto seen = visible_devices(family::nvidia, {{"CUDA_VISIBLE_DEVICES", mask}}, all);
    if (!seen)
      continue;
    std::set<std::string> once{seen->begin(), seen->end()};
    REQUIRE(once.size() == seen->size());
    for (const auto& id : once)
      REQUIRE(std::ranges::find(all, id, &probed_device::id) != all.end());
  }
}

TEST_CASE("a replica is told its devices as its profile says, and in an order that is fixed") {
  auto uuid = bind_devices(family::nvidia, profile("uuid"), {"GPU-2aaa", "GPU-0aaa"}, four());
  REQUIRE(uuid);
  CHECK(uuid->mask == "GPU-2aaa,GPU-0aaa");
  CHECK(
    uuid->variables
    == environment{{"CUDA_VISIBLE_DEVICES", "GPU-2aaa,GPU-0aaa"}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}
  );
  auto index =
    bind_devices(family::nvidia, profile("index", ";"), {"GPU-2aaa", "GPU-0aaa"}, four());
  REQUIRE(index);
  CHECK(index->mask == "2;0");
  auto range =
    bind_devices(family::nvidia, profile("range"), {"GPU-3aaa", "GPU-0aaa", "GPU-2aaa"}, four());
  REQUIRE(range);
  CHECK(range->mask == "0,2-3");
}

TEST_CASE("a core goes by the number that its runtime gives it, whatever its place") {
  std::vector<probed_device> cores;
  for (std::uint64_t n : {4, 5, 6, 7})
    cores.push_back({.id = "nc" + std::to_string(n), .pci = "0000:00:1f.0", .number = n});
  auto seen = visible_devices(family::neuron, {{"NEURON_RT_VISIBLE_CORES", "4-5,7"}}, cores);
  REQUIRE(seen);
  CHECK(*seen == std::vector<std::string>{"nc4", "nc5", "nc7"});
  for (const auto* mask : {"0-3", "5-4", "4-", "4-99999999"})
    CHECK_FALSE(visible_devices(family::neuron, {{"NEURON_RT_VISIBLE_CORES", mask}}, cores));
  catalog::runtime_profile made;
  made.devices[family::neuron] = {"NEURON_RT_VISIBLE_CORES", "range", "-", {}};
  auto bound = bind_devices(family::neuron, made, {"nc7", "nc5", "nc6"}, cores);
  REQUIRE(bound);
  CHECK(bound->mask == "5-7");
}

TEST_CASE("what cannot be bound is refused, and nothing is started") {
  auto all = four();
  all.push_back({.id = "MIG-1", .pci = "0000:60:00.0", .name = "MIG 1g"});
  CHECK_FALSE(bind_devices(family::nvidia, profile("uuid"), {"GPU-9"}, all));
  CHECK_FALSE(bind_devices(family::amd, profile("uuid"), {"GPU-0aaa"}, all));
  auto part = bind_devices(family::nvidia, profile("index"), {"MIG-1"}, all);
  REQUIRE_FALSE(part);
  CHECK(part.error().what.find("has no number") != std::string::npos);
  CHECK(bind_devices(family::nvidia, profile("uuid"), {"MIG-1"}, all));
}

TEST_CASE("a replica without devices finds none on a host that has some") {
  CHECK(hide_devices(family::nvidia) == environment{{"CUDA_VISIBLE_DEVICES", ""}});
  CHECK(hide_devices(family::cpu).empty());
}

} // namespace assay::agent
