// AMD's devices from trees that look like its driver's.

#include "node-agent/families/amd_probe.hpp"
#include "node-agent/families/sysfs.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace assay::agent {

namespace {

namespace fs = std::filesystem;
using fabric::device_state;

struct tree {
  test::temp_folder folder;

  void put(const std::string& file, const std::string& text) const {
    folder.write(file, text + "\n");
  }

  static std::string node(unsigned n) {
    return "sys/class/kfd/kfd/topology/nodes/" + std::to_string(n);
  }
  static std::string device(const std::string& address = "0000:05:00.0") {
    return "sys/bus/pci/devices/" + address;
  }

  void cpu(unsigned n) const { put(node(n) + "/properties", "cpu_cores_count 96\nsimd_count 0"); }
  void gpu(unsigned n, unsigned location, std::uint64_t unique = 0x1234) const {
    put(
      node(n) + "/properties",
      "cpu_cores_count 0\nsimd_count 152\ngfx_target_version 90402\nvendor_id 4098\nlocation_id "
        + std::to_string(location) + "\ndomain 0\nunique_id " + std::to_string(unique)
    );
    put(node(n) + "/gpu_id", std::to_string(100 + n));
    put(node(n) + "/mem_banks/0/properties", "heap_type 1\nsize_in_bytes 1073741824\nflags 0");
    put(node(n) + "/mem_banks/1/properties", "heap_type 4\nsize_in_bytes 99");
  }
  /// One MI300X on node 2, awake and well.
  void one() const {
    cpu(0);
    gpu(2, 0x500);
    put(device() + "/vendor", "0x1002");
    put(device() + "/product_name", "AMD Instinct MI300X");
    put(device() + "/gpu_busy_percent", "37");
    put(device() + "/mem_info_vram_used", "4096");
    put(device() + "/power/runtime_status", "active");
    put(device() + "/hwmon/hwmon3/power1_input", "550000000");
    put(device() + "/hwmon/hwmon3/temp2_input", "48000");
    put(device() + "/hwmon/hwmon3/temp2_label", "junction");
    put(device() + "/ras/umc_err_count", "ue: 0\nce: 3");
    put("sys/module/amdgpu/version", "6.8.5");
    put("opt/rocm/.info/version", "6.2.0-66");
  }
  family_look look() const { return look_at_amd(folder.path(), {7}); }
};

std::string figure(const family_look& look, const std::string& name) {
  for (const auto& one : look.samples)
    if (one.name == name)
      return telemetry::to_text(one.reading);
  return "none";
}

} // namespace

TEST_CASE("a node of the topology that computes is a device, joined onto the bus") {
  tree t;
  t.one();
  auto look = t.look();
  REQUIRE(look.devices.size() == 1);
  const auto& d = look.devices[0];
  CHECK(d.id == "GPU-0000000000001234");
  CHECK(d.pci == "0000:05:00.0");
  CHECK(d.name == "AMD Instinct MI300X (gfx942)");
  CHECK(d.memory_bytes == 1ULL << 30);
  CHECK(d.used_bytes == 4'096);
  CHECK(d.state == device_state::offered);
  CHECK(
    look.stack
    == std::map<std::string, std::string>{{"amd.driver", "6.8.5"}, {"amd.rocm", "6.2.0-66"}}
  );
  CHECK(figure(look, "gpu_busy_percent") == "37");
  CHECK(figure(look, "hwmon/power1_input") == "550000000");
  CHECK(figure(look, "hwmon/temp2_input/junction") == "48000");
  CHECK(figure(look, "ras/umc_err_count/ce") == "3");
}

TEST_CASE("what a card does not have is unsupported, and no zero") {
  tree t;
  t.one();
  auto look = t.look();
  CHECK(figure(look, "mem_busy_percent") == "unsupported");
  CHECK(figure(look, "hwmon/power1_average") == "unsupported");
}

TEST_CASE("one file that is gone takes just its own figure with it") {
  tree t;
  t.one();
  auto count = [](const family_look& look) {
    return std::ranges::count_if(look.samples, [](const auto& s) {
      return telemetry::has_value(s.reading);
    });
  };
  auto before = count(t.look());
  fs::remove(t.folder.path() / tree::device() / "gpu_busy_percent");
  CHECK(count(t.look()) == before - 1);
  CHECK(t.look().devices.size() == 1);
}

TEST_CASE("sensors of a card that sleeps are left alone") {
  tree t;
  t.one();
  t.put(tree::device() + "/power/runtime_status", "suspended");
  auto look = t.look();
  CHECK(figure(look, "power/runtime_status") == "suspended");
  CHECK(figure(look, "gpu_busy_percent") == "unavailable: the device is suspended");
  CHECK(figure(look, "hwmon/power1_input") == "unavailable: the device is suspended");
}

TEST_CASE("what is empty, past what there can be, or no number is none") {
  tree t;
  t.one();
  t.put(tree::device() + "/gpu_busy_percent", "250");
  t.put(tree::device() + "/mem_busy_percent", "");
  t.put(tree::device() + "/pcie_replay_count", "N/A");
  auto look = t.look();
  CHECK(figure(look, "gpu_busy_percent") == "unavailable: the file holds 250 %");
  CHECK(figure(look, "mem_busy_percent") == "unavailable: the file is empty");
  CHECK(figure(look, "pcie_replay_count") == "failed(22): 'N/A' is no number");
}

TEST_CASE("partitions of one package are devices of their own, and its sensors are read once") {
  tree t;
  t.one();
  t.gpu(3, 0x501);
  t.gpu(4, 0x502);
  auto look = t.look();
  REQUIRE(look.devices.size() == 3);
  CHECK(look.devices[1].id == "GPU-0000000000001234/1");
  CHECK(look.devices[2].pci == "0000:05:00.0");
  for (const auto& d : look.devices)
    CHECK_FALSE(d.used_bytes); // The package counts for all.
  CHECK(std::ranges::count(look.samples, "gpu_busy_percent", &telemetry::sample::name) == 1);
}

TEST_CASE("a card without a unique id goes by its address") {
  tree t;
  t.gpu(1, 0x500, 0);
  CHECK(t.look().devices.at(0).id == "0000:05:00.0");
}

TEST_CASE("uncorrectable errors make a card sick, and name the block") {
  tree t;
  t.one();
  t.put(tree::device() + "/ras/umc_err_count", "ue: 2\nce: 0");
  auto d = t.look().devices.at(0);
  CHECK(d.state == device_state::sick);
  CHECK(d.why == "RAS: 2 uncorrectable errors of umc");
}

TEST_CASE("who holds memory on a device is named with how much") {
  tree t;
  t.one();
  t.put("sys/class/kfd/kfd/proc/4711/vram_102", "1048576");
  t.put("sys/class/kfd/kfd/proc/4712/vram_102", "0");
  t.put("sys/class/kfd/kfd/proc/4713/vram_999", "1048576");
  CHECK(t.look().devices.at(0).processes == std::vector<device_process>{{4711, 1'048'576}});
}

TEST_CASE("a node that may not be read is somebody else's, and hides no other") {
  if (::geteuid() == 0)
    SKIP("root reads everything");
  tree t;
  t.one();
  t.gpu(3, 0x600);
  fs::permissions(t.folder.path() / tree::node(3) / "properties", fs::perms::none);
  CHECK(t.look().devices.size() == 1);
}

TEST_CASE("a host without KFD has no device") {
  tree t;
  t.put(tree::device() + "/vendor", "0x1002");
  CHECK(t.look().devices.empty());
}

TEST_CASE("a number is found by its key, and by nothing that only begins like it") {
  CHECK(number_after("simd_count 152\nsimd_id_base 7", "simd_count") == 152);
  CHECK(number_after("ue: 4\nce: 5\n", "ce") == 5);
  CHECK_FALSE(number_after("simd_counter 1", "simd_count"));
  CHECK_FALSE(number_after("simd_count x", "simd_count"));
  CHECK_FALSE(number_after("", "simd_count"));
}

} // namespace assay::agent
