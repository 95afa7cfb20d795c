// AWS Neuron's devices, from tools that behave as they are told.

#include "node-agent/families/neuron_probe.hpp"
#include "node-agent/families/tool.hpp"
#include "node-agent/families/watched_family.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <filesystem>

namespace assay::agent {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using fabric::device_state;

const std::string two_cores = R"([{"neuron_device":0,"bdf":"0000:00:1f.0","numa_node":"-1",
  "connected_to":null,"nc_count":2,"memory_size":34359738368,"neuroncore_ids":[0,1],"neuron_processes":[]}])";

/// A document of `neuron-monitor`; its cores as given.
std::string document(const std::string& cores, const std::string& hardware = "") {
  return R"({"neuron_runtime_data":[{"pid":2199,"report":{"neuroncore_counters":{"period":1,"neuroncores_in_use":{)"
         + cores
         + R"(}},"execution_stats":{"execution_summary":{"completed":816,"timed_out":0}},"memory_used":{"neuron_runtime_used_bytes":{"host":11,"neuron_device":22}}}}],"system_data":{"neuron_hw_counters":{)"
         + hardware + "}}}";
}

family_look with(const std::string& line) {
  family_look look;
  look.devices = *parse_neuron_ls(two_cores);
  REQUIRE(add_neuron_monitor(line, {7}, look));
  return look;
}

std::string figure(const family_look& look, const std::string& name, const std::string& device) {
  for (const auto& one : look.samples)
    if (one.name == name && one.device == device)
      return telemetry::to_text(one.reading);
  return "none";
}

/// Stubs of the tools, in a folder of their own that stands in PATH.
struct neuron_host {
  test::temp_folder folder;

  void tool(const std::string& name, const std::string& script) const {
    auto file = folder.write("bin/" + name + ".new", "#!/bin/sh\n" + script + "\n");
    fs::permissions(file, fs::perms::owner_all);
    fs::rename(file, folder.path() / "bin" / name);
  }
  void plug(const std::string& address) const {
    auto at = "root/sys/bus/pci/devices/" + address;
    folder.write(at + "/vendor", "0x1d0f\n");
    folder.write(at + "/device", "0x7264\n");
    folder.write(at + "/class", "0x088000\n");
    fs::create_directories(folder.path() / "root/drivers/neuron");
    fs::create_directory_symlink(
      folder.path() / "root/drivers/neuron", folder.path() / at / "driver"
    );
  }
  std::unique_ptr<watched_family> watch(std::chrono::milliseconds patience = 20s) const {
    return std::make_unique<watched_family>(family_plan{
      .family = catalog::family::neuron,
      .probe =
        {"/usr/bin/env",
         "PATH=" + (folder.path() / "bin").native() + ":/usr/bin:/bin",
         ASSAY_AGENT_PROGRAM,
         "probe",
         "neuron",
         "--root",
         (folder.path() / "root").native()},
      .inherited = {},
      .is_ours = [](std::int64_t) { return false; },
      .patience = patience,
    });
  }
};

/// Looks until it holds; the last look.
template <class Holds>
family_state look_until(watched_family& watched, Holds holds) {
  auto until = std::chrono::steady_clock::now() + 30s;
  auto seen = watched.look();
  while (!holds(seen) && std::chrono::steady_clock::now() < until)
    seen = watched.look();
  return seen;
}

std::string utilization(const family_state& s) {
  for (const auto& one : s.samples)
    if (one.name == "neuroncore_utilization")
      return telemetry::to_text(one.reading);
  return "none";
}

} // namespace

TEST_CASE("each core of a list is a device, with its share of memory and its own number") {
  auto cores = parse_neuron_ls(two_cores);
  REQUIRE(cores);
  REQUIRE(cores->size() == 2);
  CHECK((*cores)[1].id == "0000:00:1f.0/nc1");
  CHECK((*cores)[1].number == 1U);
  CHECK((*cores)[1].memory_bytes == 34'359'738'368 / 2);
}

TEST_CASE("a list without core numbers or domains is read, and one that is none is refused") {
  auto older = parse_neuron_ls(
    R"([{"neuron_device":1,"bdf":"a0:1e.0","nc_count":4,"memory_size":8,"neuron_processes":[{"pid":5}]}])"
  );
  REQUIRE(older);
  CHECK((*older)[0].id == "0000:a0:1e.0/nc0");
  CHECK((*older)[3].number == 7U);
  CHECK((*older)[0].processes == std::vector<device_process>{{5, std::nullopt}});
  for (const auto* text :
       {"",
        "No neuron devices found",
        "{}",
        "[7]",
        R"([{"bdf":"x","nc_count":2}])",
        R"([{"bdf":"0000:00:1f.0"}])",
        R"([{"bdf":"0000:00:1f.0","nc_count":2)"})
    CHECK_FALSE(parse_neuron_ls(text));
}

TEST_CASE("a core's figure is the largest that a runtime gives, and one that nobody uses has none"
) {
  auto look = with(document(
    R"("0":{"neuroncore_utilization":89.5,"effective_flops":875590474948},"0 ":{"neuroncore_utilization":1})"
  ));
  CHECK(figure(look, "neuroncore_utilization", "0000:00:1f.0/nc0") == "89.5");
  CHECK(figure(look, "effective_flops", "0000:00:1f.0/nc0") == "875590474948");
  CHECK(
    figure(look, "neuroncore_utilization", "0000:00:1f.0/nc1") == "unavailable: no runtime uses it"
  );
  CHECK(figure(look, "execution_summary.completed", "pid 2199") == "816");
  CHECK(figure(look, "neuron_runtime_used_bytes.neuron_device", "pid 2199") == "22");
}

TEST_CASE("a group that carries an error has no figures, whatever zeros stand in it") {
  auto line = document(R"("0":{"neuroncore_utilization":0})");
  auto at = line.find("\"period\"");
  line.insert(at, R"("error":"pid in another namespace",)");
  CHECK(
    figure(with(line), "neuroncore_utilization", "0000:00:1f.0/nc0")
    == "unavailable: pid in another namespace"
  );
}

TEST_CASE("an uncorrectable error of a device makes its cores sick") {
  auto look = with(document(
    "",
    R"("neuron_devices":[{"neuron_device_index":0,"mem_ecc_corrected":3,"mem_ecc_uncorrected":1}])"
  ));
  CHECK(figure(look, "mem_ecc_corrected", "neuron0") == "3");
  for (const auto& core : look.devices) {
    CHECK(core.state == device_state::sick);
    CHECK(core.why == "neuron0: 1 mem_ecc_uncorrected");
  }
  auto broken = with(document(
    "",
    R"("error":"cannot read","neuron_devices":[{"neuron_device_index":0,"mem_ecc_uncorrected":1}])"
  ));
  CHECK(broken.devices[0].state == device_state::offered);
  CHECK(figure(broken, "mem_ecc_uncorrected", "neuron0") == "unavailable: cannot read");
}

TEST_CASE("half a document, and what is none, add nothing") {
  auto line = document(R"("0":{"neuroncore_utilization":1})");
  family_look look;
  for (std::size_t size = 0; size < line.size(); size += 7)
    CHECK_FALSE(add_neuron_monitor(line.substr(0, size), {7}, look));
  CHECK(look.samples.empty());
}

TEST_CASE("the tools are asked, and the newest line of the monitor counts") {
  neuron_host host;
  host.plug("0000:00:1f.0");
  host.tool("neuron-ls", "cat <<'END'\n" + two_cores + "\nEND");
  auto first = document(R"("0":{"neuroncore_utilization":1})");
  auto second = document(R"("0":{"neuroncore_utilization":2})");
  // Two documents in one write, and half of a third.
  host.tool(
    "neuron-monitor",
    "cat <<'END'\n" + first + "\n" + second + "\nEND\nprintf '{\"half'; sleep 1000"
  );
  auto watched = host.watch();
  auto seen = look_until(*watched, [](const auto& s) { return utilization(s) == "2"; });
  CHECK(utilization(seen) == "2");
  CHECK(seen.devices.size() == 2);
}

TEST_CASE("a monitor that ended gives no old figures, and is begun anew") {
  neuron_host host;
  host.plug("0000:00:1f.0");
  host.tool("neuron-ls", "cat <<'END'\n" + two_cores + "\nEND");
  auto marks = (host.folder.path() / "begun").native();
  host.tool(
    "neuron-monitor",
    "echo x >> " + marks + "; cat <<'END'\n" + document(R"("0":{"neuroncore_utilization":1})")
      + "\nEND"
  );
  auto watched = host.watch();
  auto seen = look_until(*watched, [](const auto& s) {
    return utilization(s) == "unavailable: neuron-monitor ended";
  });
  CHECK(utilization(seen) == "unavailable: neuron-monitor ended");
  look_until(*watched, [&](const auto&) {
    return read_small_file(marks).value_or("").size() >= 4;
  });
  CHECK(read_small_file(marks).value_or("").size() >= 4);
}

TEST_CASE("a device that the list has not, and every one when there is no list, is lost") {
  neuron_host host;
  host.plug("0000:00:1e.0");
  host.plug("0000:00:1f.0");
  host.tool("neuron-monitor", "sleep 1000");
  SECTION("one is missing") {
    host.tool("neuron-ls", "cat <<'END'\n" + two_cores + "\nEND");
    auto watched = host.watch();
    auto seen = watched->look();
    REQUIRE(seen.devices.size() == 3);
    CHECK(seen.devices[0].id == "0000:00:1e.0");
    CHECK(seen.devices[0].state == device_state::lost);
    CHECK(seen.devices[1].state == device_state::offered);
  }
  SECTION("the tool fails") {
    host.tool("neuron-ls", "echo 'driver not loaded'; exit 1");
    auto watched = host.watch();
    auto seen = watched->look();
    REQUIRE(seen.devices.size() == 2);
    CHECK(seen.devices[0].why.find("driver not loaded") != std::string::npos);
  }
  SECTION("the tool hangs") {
    host.tool("neuron-ls", "sleep 1000");
    auto watched = host.watch();
    auto seen = watched->look();
    REQUIRE(seen.devices.size() == 2);
    CHECK(seen.devices[0].why.find("neuron-ls did not end in time") != std::string::npos);
  }
}

} // namespace assay::agent
