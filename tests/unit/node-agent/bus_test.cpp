// What is on the bus, and what the kernel's log says of it.

#include "node-agent/families/nvidia_probe.hpp"
#include "node-agent/families/xid.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <fstream>

namespace assay::agent {

namespace {

namespace fs = std::filesystem;

/// A tree of /sys, /proc and /dev with NVIDIA devices in it.
struct machine {
  test::temp_folder root;

  void put(const fs::path& file, const std::string& text) const {
    fs::create_directories((root.path() / file).parent_path());
    std::ofstream{root.path() / file} << text;
  }
  void device(
    const std::string& address,
    const std::string& vendor = "0x10de",
    const std::string& device_class = "0x030200",
    const std::string& driver = "nvidia"
  ) const {
    auto folder = fs::path{"sys/bus/pci/devices"} / address;
    put(folder / "vendor", vendor + "\n");
    put(folder / "device", "0x2330\n");
    put(folder / "class", device_class + "\n");
    if (!driver.empty()) {
      fs::create_directories(root.path() / "sys/bus/pci/drivers" / driver);
      fs::create_directory_symlink(
        root.path() / "sys/bus/pci/drivers" / driver, root.path() / folder / "driver"
      );
    }
  }
  /// Its files of the driver and its node.
  void node(const std::string& address, const std::string& minor, bool may_open = true) const {
    put(
      fs::path{"proc/driver/nvidia/gpus"} / address / "information",
      "Model: \t\t NVIDIA H100\nDevice Minor: \t " + minor + "\n"
    );
    if (may_open)
      put(fs::path{"dev"} / ("nvidia" + minor), "");
  }
};

probed_device shown(const std::string& id, const std::string& pci) {
  return {.id = id, .pci = pci, .name = "H100"};
}

} // namespace

TEST_CASE("an address of the bus is one whoever writes it") {
  struct row {
    const char* text;
    const char* as;
  };
  for (auto [text, as] : {
         row{"00000000:65:00.0", "0000:65:00.0"},
         row{"0000:65:00.0", "0000:65:00.0"},
         row{"65:00.0", "0000:65:00.0"},
         row{"0000:03:00", "0000:03:00.0"},
         row{"0008:01:00", "0008:01:00.0"},
         row{"00010000:C1:1F.7", "10000:c1:1f.7"},
       }) {
    INFO(text);
    CHECK(pci_address(text) == as);
  }
  for (const auto* text : {"", "65", "65:20.0", "65:00.8", "x:00.0", "0000:65:00.0.0", "65:00."})
    CHECK_FALSE(pci_address(text));
}

TEST_CASE("the bus is read with what drives each device, and audio functions do not compute") {
  machine m;
  m.device("0000:65:00.0");
  m.device("0000:65:00.1", "0x10de", "0x040300", "snd_hda_intel");
  m.device("0000:05:00.0", "0x10de", "0x068000");
  m.device("0001:00:00.0", "0x10de", "0x030000", "vfio-pci");
  m.device("0000:00:02.0", "0x8086", "0x030000", "i915");
  m.put("sys/bus/pci/devices/nonsense/vendor", "0x10de\n");
  auto bus = read_pci_bus(m.root.path());
  CHECK(bus.size() == 5);
  auto found = nvidia_devices(bus);
  REQUIRE(found.size() == 2);
  CHECK(found[0] == pci_device{"0000:65:00.0", 0x10de, 0x2330, 0x030200, "nvidia"});
  CHECK(found[1].driver == "vfio-pci");
}

TEST_CASE("a machine without a bus has nothing on it") {
  test::temp_folder empty;
  CHECK(read_pci_bus(empty.path()).empty());
}

TEST_CASE("a device that the library does not show is lost, or not ours to speak of") {
  machine m;
  m.device("0000:65:00.0");
  m.device("0000:66:00.0");
  m.node("0000:65:00.0", "0");
  m.node("0000:66:00.0", "1");
  auto bus = nvidia_devices(read_pci_bus(m.root.path()));
  auto reach = [&](const pci_device& d) { return is_within_reach(d, m.root.path()); };
  auto all = join_bus({shown("GPU-1", "0000:65:00.0")}, bus, "NVML 15: GPU is lost", reach);
  REQUIRE(all.size() == 2);
  CHECK(all[0].state == fabric::device_state::offered);
  CHECK(all[1].id == "0000:66:00.0");
  CHECK(all[1].state == fabric::device_state::lost);
  CHECK(all[1].why.find("NVML 15: GPU is lost") != std::string::npos);

  SECTION("its node is not there") {
    fs::remove(m.root.path() / "dev/nvidia1");
    CHECK(join_bus({shown("GPU-1", "0000:65:00.0")}, bus, "", reach).size() == 1);
  }
  SECTION("a container was not given its files") {
    fs::remove_all(m.root.path() / "proc/driver/nvidia/gpus/0000:66:00.0");
    CHECK(join_bus({shown("GPU-1", "0000:65:00.0")}, bus, "", reach).size() == 1);
  }
  SECTION("another driver has it") {
    bus[1].driver = "vfio-pci";
    CHECK(join_bus({shown("GPU-1", "0000:65:00.0")}, bus, "", reach).size() == 1);
  }
  SECTION("nothing is shown at all") {
    CHECK(join_bus({}, bus, "", reach).size() == 2);
  }
}

TEST_CASE("an Xid is read in each form that drivers write") {
  struct row {
    const char* line;
    const char* pci;
    int code;
    bool sick;
  };
  for (const auto& [line, pci, code, sick] : {
         row{"NVRM: Xid (0000:03:00): 14, Channel 00000001", "0000:03:00.0", 14, false},
         row{
           "NVRM: Xid (PCI:0000:38:00): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp",
           "0000:38:00.0",
           13,
           false},
         row{
           "NVRM: Xid (PCI:0000:38:00): 43, pid=2924364, name=pt_main_thread, Ch 00000008",
           "0000:38:00.0",
           43,
           false},
         row{
           "[Sun Feb 23] NVRM: Xid (PCI:0000:05:00): 79, pid='<unknown>', GPU has fallen off the "
           "bus.",
           "0000:05:00.0",
           79,
           true},
         row{
           "NVRM: Xid (PCI:0018:01:00): 145, pid=876767, name=ray::WorkerDict, RLW_RXPIPE Nonfatal "
           "XC0 i0 Link 13",
           "0018:01:00.0",
           145,
           false},
         row{
           "NVRM: Xid (PCI:0008:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01",
           "0008:01:00.0",
           149,
           true},
         row{
           "NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x4 "
           "(Drain and Reset)",
           "0009:01:00.0",
           154,
           true},
         row{
           "NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from 0x1 (GPU Reset "
           "Required) to 0x0 (None)",
           "0009:01:00.0",
           154,
           false},
       }) {
    INFO(line);
    auto read = parse_xid(line);
    REQUIRE(read);
    CHECK(read->pci == pci);
    CHECK(read->code == code);
    CHECK(read->text.starts_with("Xid ("));
    CHECK(why_sick(*read).has_value() == sick);
  }
}

TEST_CASE("what is no Xid of a device that computes is passed over") {
  for (const auto* line : {
         "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 62 LTSSM Fault Up",
         "NVRM: GPU at PCI:0000:9b:00: GPU-401bef9f-20db-0729-17ee-3670603d38d3",
         "NVRM: Xid (PCI:0000:9b:00",
         "NVRM: Xid (PCI:0000:9b:00): soon",
         "NVRM: Xid (nowhere): 79, text",
         "",
       })
    CHECK_FALSE(parse_xid(line));
}

TEST_CASE("a record of the kernel's log has a number and a time, and what has none is no record") {
  auto read = parse_kernel_record("6,3964,206764307,-;nvidia-nvswitch2: open (major=510)");
  REQUIRE(read);
  CHECK(read->sequence == 3964);
  CHECK(read->micros == 206764307);
  CHECK(read->text == "nvidia-nvswitch2: open (major=510)");
  for (const auto* text : {"", " SUBSYSTEM=pci", "6,12", "6,12,13,-", "x,1,2,-;t"})
    CHECK_FALSE(parse_kernel_record(text));
}

TEST_CASE("the log tells each Xid once, and counts the records that were lost in between") {
  machine m;
  m.put("dev/kmsg", "6,10,1000000,-;usb 1-1: new device\n");
  kernel_log log{m.root.path()};
  CHECK(log.news().empty());
  std::ofstream{m.root.path() / "dev/kmsg", std::ios::app}
    << "4,14,2000000,-;NVRM: Xid (PCI:0000:05:00): 79, GPU has fallen off the bus.\n";
  auto news = log.news();
  REQUIRE(news.size() == 1);
  CHECK(news[0].what.device == "0000:05:00.0");
  CHECK(news[0].what.code == 79);
  CHECK(news[0].sick == "Xid 79: fallen off the bus");
  CHECK(log.news().empty());
  auto lost = log.samples({5});
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].reading == telemetry::reading{std::uint64_t{3}});
}

TEST_CASE("a log that may not be read says with which code") {
  test::temp_folder empty;
  kernel_log log{empty.path()};
  CHECK(log.news().empty());
  auto said = log.samples({5});
  REQUIRE(said.size() == 1);
  CHECK(std::get<telemetry::failed>(said[0].reading).code == 2);
}

} // namespace assay::agent
