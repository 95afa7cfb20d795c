// The children that ask vendors' libraries: what they say, and what they do to the agent, which is
// nothing. NVIDIA's library is one that behaves as it is told (tests/support/fake_nvml).

#include "node-agent/families/watched_family.hpp"
#include "src/base/device_limits.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace assay::agent {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using fabric::device_state;

std::vector<std::string> shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

/// Answers each line with itself.
constexpr auto echo = "while read -r line; do echo \"$line\"; done";

/// A machine with a fake library and some devices on its bus.
struct gpu_host {
  test::temp_folder folder;
  environment inherited;
  std::function<bool(std::int64_t)> is_ours = [](std::int64_t) { return false; };

  gpu_host() { tell("devices 2\n"); }

  void tell(const std::string& how) const { folder.write("nvml", how); }
  /// On the bus, with all that its driver makes of it.
  void plug(const std::string& slot, const std::string& minor) const {
    auto address = "0000:" + slot + ":00.0";
    auto at = "root/sys/bus/pci/devices/" + address;
    folder.write(at + "/vendor", "0x10de\n");
    folder.write(at + "/device", "0x2330\n");
    folder.write(at + "/class", "0x030200\n");
    fs::create_directories(folder.path() / "root/drivers/nvidia");
    fs::create_directory_symlink(
      folder.path() / "root/drivers/nvidia", folder.path() / at / "driver"
    );
    folder.write(
      "root/proc/driver/nvidia/gpus/" + address + "/information", "Device Minor: \t " + minor + "\n"
    );
    folder.write("root/dev/nvidia" + minor, "");
  }
  void log(const std::string& line) const {
    fs::create_directories(folder.path() / "root/dev");
    std::ofstream{folder.path() / "root/dev/kmsg", std::ios::app} << line << '\n';
  }

  std::unique_ptr<watched_family>
  watch(const std::string& library = "new", std::chrono::milliseconds patience = 20s) const {
    return std::make_unique<watched_family>(family_plan{
      .family = catalog::family::nvidia,
      .probe =
        {"/usr/bin/env",
         "LD_LIBRARY_PATH=" ASSAY_FAKE_NVML "/" + library,
         "FAKE_NVML=" + (folder.path() / "nvml").native(),
         ASSAY_AGENT_PROGRAM,
         "probe",
         "nvidia",
         "--root",
         (folder.path() / "root").native()},
      .inherited = inherited,
      .is_ours = is_ours,
      .patience = patience,
    });
  }
};

const fabric::device* device(const family_state& s, const std::string& begins) {
  for (const auto& d : s.devices)
    if (d.id.starts_with(begins))
      return &d;
  return nullptr;
}

std::string figure(const family_state& s, const std::string& name, int device = 1) {
  for (const auto& one : s.samples)
    if (one.name == name && one.device.starts_with("GPU-0000000" + std::to_string(device)))
      return telemetry::to_text(one.reading);
  return "none";
}

std::string why(const result<std::string, problem>& answer) {
  return answer ? "answered " + *answer : answer.error().what;
}

} // namespace

// -- the child --------------------------------------------------------------------------------

TEST_CASE("a child answers each question, and is the same one from question to question") {
  probe_child child{shell("while read -r line; do echo \"$$ $line\"; done")};
  auto first = child.ask("one", 20s);
  auto second = child.ask("two", 20s);
  REQUIRE((first && second));
  CHECK(first->ends_with(" one"));
  CHECK(first->substr(0, first->find(' ')) == second->substr(0, second->find(' ')));
}

TEST_CASE("a child that hangs is killed at the deadline, and another one is asked later") {
  test::temp_folder folder;
  auto mark = (folder.path() / "hung").native();
  probe_child child{shell(
    "[ -e " + mark + " ] && { " + echo + "; exit; }; touch " + mark + "; read -r line; sleep 1000"
  )};
  CHECK(why(child.ask("one", 300ms)).starts_with("the probe did not answer in time"));
  result<std::string, problem> answer = unexpected{problem{}};
  auto until = std::chrono::steady_clock::now() + 30s;
  while (!answer && std::chrono::steady_clock::now() < until)
    answer = child.ask("two", 20s);
  CHECK(why(answer) == "answered two");
}

TEST_CASE("a child that crashes costs one answer, and the pause after it") {
  probe_child child{shell("read -r line; kill -SEGV $$")};
  auto said = why(child.ask("one", 20s));
  CHECK(said.starts_with("the probe closed its end"));
  said = why(child.ask("two", 20s));
  CHECK(
    (said.find("is begun again later") != std::string::npos
     || said.find("has not ended") != std::string::npos)
  );
}

TEST_CASE("a child that says too much, or more than one line, is ended") {
  probe_child endless{shell("read -r line; yes aaaaaaaaaaaaaaaa | tr -d '\\n'")};
  CHECK(why(endless.ask("one", 60s)).find("longer than 4 MiB") != std::string::npos);
  probe_child twice{shell("read -r line; printf 'a\\nb\\n'; sleep 1000")};
  CHECK(why(twice.ask("one", 20s)).find("more than it was asked") != std::string::npos);
}

TEST_CASE("a child that was retired is followed by another one at once") {
  probe_child child{shell("while read -r line; do echo $$; done")};
  auto first = child.ask("one", 20s);
  child.retire();
  result<std::string, problem> second = unexpected{problem{}};
  auto until = std::chrono::steady_clock::now() + 20s;
  while (!second && std::chrono::steady_clock::now() < until) // Until the kernel has ended it.
    second = child.ask("two", 20s);
  REQUIRE((first && second));
  CHECK(*first != *second);
}

TEST_CASE("a program that is not there is a problem with its name") {
  probe_child child{{"/nonexistent/probe"}};
  auto answer = child.ask("one", 1s);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().where == "/nonexistent/probe");
}

// -- the line ---------------------------------------------------------------------------------

TEST_CASE("a look is written as one line and read as it was") {
  family_look look;
  look.devices = {
    {.id = "GPU-1",
     .pci = "0000:65:00.0",
     .name = "H \"100\"",
     .memory_bytes = 1ULL << 40,
     .used_bytes = 7,
     .state = device_state::sick,
     .why = "row\nremap",
     .processes = {{12, 1ULL << 33}, {13, std::nullopt}}}};
  look.stack = {{"nvidia.driver", "550"}};
  using telemetry::sample_kind;
  auto add = [&](telemetry::reading r, sample_kind kind) {
    look.samples.push_back({"nvidia", "n", "mW", kind, "GPU-1", std::move(r), {5}});
  };
  add(std::uint64_t{18'446'744'073'709'551'614ULL}, sample_kind::counter);
  add(std::int64_t{-3}, sample_kind::gauge);
  add(0.5, sample_kind::gauge);
  add(std::string{"max"}, sample_kind::state);
  add(telemetry::unsupported{}, sample_kind::gauge);
  add(telemetry::unavailable{"asleep"}, sample_kind::gauge);
  add(telemetry::failed{15, "GPU is lost"}, sample_kind::gauge);
  look.events = {{{catalog::family::nvidia, "GPU-1", "Xid", 79, "gone", {9}}, "gone"}};
  look.fault = "NVML 18";
  auto line = to_line(look);
  CHECK(line.find('\n') == std::string::npos);
  auto read = parse_look("nvidia", line);
  INFO((read ? "" : read.error().what));
  REQUIRE(read);
  CHECK(*read == look);
}

TEST_CASE("what a probe may not say is refused with the member that is wrong") {
  for (const auto& [line, part] : std::vector<std::pair<std::string, std::string>>{
         {"", "cannot be read"},
         {"{\"devices\":", "cannot be read"},
         {"[]", "no JSON object"},
         {R"({"devices":[{"name":"x"}]})", "no `id`"},
         {R"({"devices":[{"id":"x","state":"withheld"}]})", "not the probe's to say"},
         {R"({"devices":[{"id":"x","state":"fine"}]})", "'fine'"},
         {R"({"devices":[{"id":"x","memory_bytes":-1}]})", "memory_bytes"},
         {R"({"devices":[{"id":7}]})", "`id`"},
         {R"({"devices":{}})", "`devices` is no list"},
         {R"({"samples":[{"name":"n"}]})", "neither `value` nor `state`"},
         {R"({"samples":[{"name":"n","value":null}]})", "neither a number nor a text"},
         {R"({"samples":[{"name":"n","state":"N/A"}]})", "'N/A'"},
         {R"({"stack":7})", "`stack`"},
         {R"({"fault":")" + std::string(limits::probe_text_bytes + 1, 'x') + "\"}", "`fault`"},
       }) {
    INFO(line.substr(0, 100));
    auto read = parse_look("nvidia", line);
    REQUIRE_FALSE(read);
    CHECK(read.error().what.find(part) != std::string::npos);
  }
}

TEST_CASE("a line that is cut anywhere is refused or read, and never anything else") {
  family_look look;
  look.devices = {{.id = "GPU-1", .processes = {{12, 1}}}};
  look.samples = {{"nvidia", "n", "u", {}, "GPU-1", 0.5, {5}}};
  auto line = to_line(look);
  for (std::size_t size = 0; size < line.size(); ++size)
    CHECK_FALSE(parse_look("nvidia", line.substr(0, size)));
}

// -- NVIDIA -----------------------------------------------------------------------------------

TEST_CASE("NVML's devices are joined onto the bus, with their figures in its own words") {
  gpu_host host;
  host.plug("65", "0");
  host.plug("66", "1");
  auto watched = host.watch();
  auto seen = watched->look();
  REQUIRE(seen.devices.size() == 2);
  CHECK(seen.devices[0].id == "GPU-00000001-0000-0000-0000-000000000000");
  CHECK(seen.devices[0].name == "NVIDIA H100");
  CHECK(seen.devices[0].memory_bytes == 80ULL << 30);
  CHECK(seen.devices[0].state == device_state::offered);
  CHECK(
    seen.stack
    == std::map<
      std::string,
      std::
        string>{{"nvidia.cuda", "12.4"}, {"nvidia.driver", "550.1.2"}, {"nvidia.nvml", "12.550.1"}}
  );
  CHECK(figure(seen, "utilization.gpu") == "37");
  CHECK(figure(seen, "power.draw") == "350000");
  CHECK(figure(seen, "temperature.gpu") == "41");
  CHECK(figure(seen, "memory.reserved") == std::to_string(1ULL << 29));
  CHECK(figure(seen, "ecc.errors.uncorrected.volatile.total") == "10");
  CHECK(figure(seen, "clocks_event_reasons.active") == "4");
}

TEST_CASE("each code of a call is a state of its figure, and no zero") {
  gpu_host host;
  host.plug("65", "0");
  for (const auto& [code, text] : std::vector<std::pair<int, std::string>>{
         {3, "unsupported"},
         {13, "unsupported"},
         {26, "unsupported"},
         {19, "unavailable: NVML 19: Unknown Error"},
         {21, "unavailable: NVML 21: Unknown Error"},
         {27, "unavailable: NVML 27: Unknown Error"},
         {4, "failed(4): NVML 4: Insufficient Permissions"},
         {10, "failed(10): NVML 10: Unknown Error"},
         {15, "failed(15): NVML 15: GPU is lost"},
         {16, "failed(16): NVML 16: GPU requires reset"},
         {999, "failed(999): NVML 999: Unknown Error"},
       }) {
    INFO(code);
    host.tell("devices 1\ncode PowerUsage " + std::to_string(code) + "\n");
    auto watched = host.watch();
    auto seen = watched->look();
    CHECK(figure(seen, "power.draw") == text);
    CHECK(figure(seen, "enforced.power.limit") == "700000");
  }
}

TEST_CASE("what the library writes for none, or past what there can be, is no number") {
  gpu_host host;
  host.plug("65", "0");
  host.tell("devices 1\nuint PowerUsage 4294967295\nuint UtilizationRates 200000\n"
            "uint TotalEnergyConsumption 9223372036854775794\n");
  auto watched = host.watch();
  auto seen = watched->look();
  CHECK(figure(seen, "power.draw") == "unavailable: the library gave its sign for none");
  CHECK(figure(seen, "utilization.gpu") == "unavailable: the library gave 200000 %");
  CHECK(
    figure(seen, "total_energy_consumption") == "unavailable: the library gave its sign for none"
  );
}

TEST_CASE("an older library has fewer figures, and older names for some") {
  gpu_host host;
  host.plug("65", "0");
  host.tell("devices 1\nprocess 0 " + std::to_string(::getpid()) + " 1048576\n");
  auto watched = host.watch("old");
  auto seen = watched->look();
  CHECK(figure(seen, "temperature.gpu") == "42");
  CHECK(figure(seen, "clocks_event_reasons.active") == "8");
  CHECK(figure(seen, "memory.reserved") == "unsupported");
  CHECK(figure(seen, "memory.total") == std::to_string(80ULL << 30));
  REQUIRE(seen.devices.size() == 1);
  CHECK(seen.devices[0].state == device_state::withheld); // By a process, in a record of 16 bytes.
}

TEST_CASE("processes are read whatever size their records have") {
  auto me = std::to_string(::getpid()), parent = std::to_string(::getppid());
  gpu_host host;
  host.plug("65", "0");
  for (const auto* stride : {"24", "32", "16"}) {
    INFO(stride);
    host.tell(
      "devices 1\nstride " + std::string{stride} + "\nprocess 0 " + me + " 1073741824\nprocess 0 "
      + parent + " 2147483648\n"
    );
    auto watched = host.watch();
    auto seen = watched->look();
    REQUIRE(seen.devices.size() == 1);
    CHECK(
      seen.devices[0].why
      == "somebody else computes on it: process " + me + " with 1024 MiB, process " + parent
           + " with 2048 MiB"
    );
  }
}

TEST_CASE("more processes than there is room for are asked for again") {
  std::string how = "devices 1\n";
  for (int i = 0; i < 200; ++i)
    how += "process 0 " + std::to_string(::getpid()) + " 1\n";
  gpu_host host;
  host.plug("65", "0");
  host.tell(how);
  auto watched = host.watch();
  auto seen = watched->look();
  REQUIRE(seen.devices.size() == 1);
  auto count = 0;
  for (std::size_t at = 0; (at = seen.devices[0].why.find("process ", at)) != std::string::npos;
       ++at)
    ++count;
  CHECK(count == 200);
}

TEST_CASE("one lost device hides no other, and one that vanishes between two calls is lost") {
  gpu_host host;
  host.plug("65", "0");
  host.plug("66", "1");
  auto watched = host.watch();
  REQUIRE(watched->look().devices.size() == 2);
  const auto* how = "";
  SECTION("its handle") {
    how = "devices 2\ncodeof Handle 1 15\n";
  }
  SECTION("its UUID, after its handle was given") {
    how = "devices 2\ncodeof UUID 1 15\n";
  }
  SECTION("its memory, after all of its identity was") {
    how = "devices 2\ncodeof MemoryInfo_v2 1 15\n";
  }
  SECTION("it is not even counted") {
    how = "devices 1\n";
  }
  host.tell(how);
  auto seen = watched->look();
  REQUIRE(seen.devices.size() == 2);
  CHECK(device(seen, "GPU-00000001")->state == device_state::offered);
  CHECK(device(seen, "GPU-00000002")->state == device_state::lost);
  CHECK(figure(seen, "power.draw") == "350000");
  host.tell("devices 2\n");
  CHECK(device(watched->look(), "GPU-00000002")->state == device_state::offered);
}

TEST_CASE("what the device itself says forbids work names its cause") {
  gpu_host host;
  host.plug("65", "0");
  host.plug("66", "1");
  host.tell("devices 2\naction 0 4\npending 1\n");
  auto watched = host.watch();
  auto seen = watched->look();
  CHECK(device(seen, "GPU-00000001")->state == device_state::sick);
  CHECK(device(seen, "GPU-00000001")->why == "NVML recovery action drain and reset");
  CHECK(device(seen, "GPU-00000002")->why == "NVML: remapped rows wait for a reset");
}

TEST_CASE("a library that cannot be used says why, and the bus still says what is there") {
  gpu_host host;
  host.plug("65", "0");
  std::string library = "new";
  std::string part;
  SECTION("another driver's") {
    host.tell("code Init 18\n");
    part = "NVML 18: Driver/library version mismatch";
  }
  SECTION("there is none") {
    library = "none";
    part = "libnvidia-ml.so.1";
  }
  auto watched = host.watch(library);
  auto seen = watched->look();
  REQUIRE(seen.devices.size() == 1);
  CHECK(seen.devices[0].state == device_state::lost);
  CHECK(seen.devices[0].why.find(part) != std::string::npos);
  REQUIRE(seen.events.size() == 1);
  CHECK(seen.events[0].text.find(part) != std::string::npos);
}

TEST_CASE("a driver that was repaired is found by the next child") {
  gpu_host host;
  host.plug("65", "0");
  host.tell("code Init 18\n");
  auto watched = host.watch();
  CHECK(watched->look().devices.at(0).state == device_state::lost);
  host.tell("devices 1\n");
  family_state seen;
  auto until = std::chrono::steady_clock::now() + 30s;
  while (std::chrono::steady_clock::now() < until
         && (seen = watched->look()).devices.at(0).state == device_state::lost) {
  }
  CHECK(seen.devices.at(0).state == device_state::offered);
}

TEST_CASE("a library that hangs or crashes costs a stale family, and is asked again when it is well"
) {
  gpu_host host;
  host.plug("65", "0");
  host.tell("devices 1\n");
  auto watched = host.watch("new", 2s);
  REQUIRE(watched->look().devices.size() == 1);
  SECTION("hangs") {
    host.tell("devices 1\nhang PowerUsage\n");
  }
  SECTION("crashes") {
    host.tell("devices 1\ncrash PowerUsage\n");
  }
  auto seen = watched->look();
  CHECK(seen.devices.at(0).state == device_state::offered); // Once is not yet stale.
  CHECK(figure(seen, "power.draw") == "350000");
  for (int i = 0; i < 3; ++i)
    seen = watched->look();
  CHECK(seen.devices.at(0).state == device_state::withheld);
  CHECK(figure(seen, "power.draw").starts_with("unavailable: "));
  host.tell("devices 1\n");
  auto until = std::chrono::steady_clock::now() + 40s;
  while (std::chrono::steady_clock::now() < until
         && (seen = watched->look()).devices.at(0).state != device_state::offered) {
  }
  CHECK(seen.devices.at(0).state == device_state::offered);
}

TEST_CASE("a card in MIG mode is its instances, with the holes between them passed over") {
  gpu_host host;
  host.plug("65", "0");
  host.tell("devices 1\nmig 0 3\n");
  auto watched = host.watch();
  auto seen = watched->look();
  REQUIRE(seen.devices.size() == 3);
  CHECK(seen.devices[0].id == "MIG-00000001-0000-0000-0000-000000000000");
  CHECK(seen.devices[2].memory_bytes == 10ULL << 30);
}

TEST_CASE("an Xid of the kernel's log makes its device sick, and no other") {
  gpu_host host;
  host.plug("65", "0");
  host.plug("66", "1");
  host.log("6,1,1000,-;NVRM: loading");
  auto watched = host.watch();
  REQUIRE(watched->look().devices.size() == 2);
  host.log("4,2,2000,-;NVRM: Xid (PCI:0000:66:00): 79, pid=1, GPU has fallen off the bus.");
  auto seen = watched->look();
  CHECK(device(seen, "GPU-00000001")->state == device_state::offered);
  CHECK(device(seen, "GPU-00000002")->state == device_state::sick);
  CHECK(device(seen, "GPU-00000002")->why == "Xid 79: fallen off the bus");
  REQUIRE(seen.events.size() == 1);
  CHECK(seen.events[0].device == "GPU-00000002-0000-0000-0000-000000000000");
  watched->forgive(wall_now());
  CHECK(device(watched->look(), "GPU-00000002")->state == device_state::offered);
}

TEST_CASE("where the kernel's log may not be read the library tells of Xids, each once") {
  gpu_host host;
  host.plug("65", "0");
  host.plug("66", "1");
  auto watched = host.watch();
  CHECK(watched->look().events.empty());
  host.tell("devices 2\nevent 1 79\n");
  auto seen = watched->look();
  CHECK(device(seen, "GPU-00000001")->state == device_state::offered);
  CHECK(device(seen, "GPU-00000002")->why == "Xid 79: fallen off the bus");
  CHECK(watched->look().events.size() == 1);
}

TEST_CASE("where the log can be read the library is not asked as well, so that nothing counts twice"
) {
  gpu_host host;
  host.plug("65", "0");
  host.log("6,1,1000,-;NVRM: loading");
  auto watched = host.watch();
  watched->look();
  host.tell("devices 1\nevent 0 79\n");
  CHECK(watched->look().events.empty());
}

TEST_CASE("a replica is bound among the families, to what it was given or to nothing") {
  gpu_host host;
  host.plug("65", "0");
  catalog::runtime_profile profile;
  profile.devices[catalog::family::nvidia] = {"CUDA_VISIBLE_DEVICES", "uuid", ",", {}};
  std::vector<std::shared_ptr<watched_family>> all{host.watch()};
  host.tell("devices 1\n");
  auto id = all[0]->look().devices.at(0).id;
  auto bound = bind_among(all, profile, {id});
  REQUIRE(bound);
  CHECK(bound->variables.at("CUDA_VISIBLE_DEVICES") == id);
  auto none = bind_among(all, profile, {});
  REQUIRE(none);
  CHECK(none->variables.at("CUDA_VISIBLE_DEVICES").empty());
  CHECK_FALSE(bind_among(all, profile, {"GPU-9"}));
  CHECK_FALSE(bind_among(all, profile, {id, "GPU-9"}));
  CHECK_FALSE(bind_among({}, profile, {"GPU-9"}));
}

} // namespace assay::agent
