#include "node-agent/families/amd_probe.hpp"

#include "node-agent/families/pci.hpp"
#include "node-agent/families/sysfs.hpp"
#include "node-agent/host/process.hpp"
#include "src/base/device_limits.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <map>

namespace assay::agent {

namespace {

namespace fs = std::filesystem;
using telemetry::sample_kind;

constexpr auto kfd = "sys/class/kfd/kfd";

/// One partition of a package, or all of it.
struct kfd_node {
  unsigned number = 0;
  std::uint64_t gpu_id = 0;
  std::uint64_t unique_id = 0; ///< Equal for all partitions of one package; 0: it has none.
  std::uint64_t location = 0;  ///< bus << 8 | device << 3 | partition
  std::uint64_t domain = 0;
  std::uint64_t target = 0; ///< 90402 is gfx942.
  std::uint64_t memory_bytes = 0;

  unsigned partition() const { return location & 7; }
};

std::vector<unsigned> numbered_folders(const fs::path& folder) {
  std::vector<unsigned> found;
  std::error_code none; // A host without KFD has no such folder.
  for (fs::directory_iterator entry{folder, none}, end; !none && entry != end;
       entry.increment(none)) {
    auto name = entry->path().filename().native();
    unsigned number = 0;
    auto [at, bad] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (bad == std::errc{} && at == name.data() + name.size())
      found.push_back(number);
  }
  std::ranges::sort(found);
  return found;
}

/// Heaps 1 and 2 are the device's own memory; `local_mem_size` is 0 on real systems.
std::uint64_t memory_of(const fs::path& node) {
  std::uint64_t bytes = 0;
  for (auto bank : numbered_folders(node / "mem_banks")) {
    auto text = read_small_file(node / "mem_banks" / std::to_string(bank) / "properties");
    auto heap = number_after(text.value_or(""), "heap_type").value_or(0);
    if (heap == 1 || heap == 2)
      bytes += number_after(*text, "size_in_bytes").value_or(0);
  }
  return bytes;
}

std::vector<kfd_node> read_nodes(const fs::path& root) {
  std::vector<kfd_node> found;
  auto nodes = root / kfd / "topology/nodes";
  for (auto number : numbered_folders(nodes)) {
    auto folder = nodes / std::to_string(number);
    auto properties = read_small_file(folder / "properties");
    if (!properties || number_after(*properties, "simd_count").value_or(0) == 0)
      continue; // A processor, or not ours.
    auto value = [&](const char* key) { return number_after(*properties, key).value_or(0); };
    auto id = read_number(folder / "gpu_id");
    const auto* gpu_id = std::get_if<std::uint64_t>(&id);
    found.push_back({
      .number = number,
      .gpu_id = gpu_id ? *gpu_id : 0,
      .unique_id = value("unique_id"),
      .location = value("location_id"),
      .domain = value("domain"),
      .target = value("gfx_target_version"),
      .memory_bytes = memory_of(folder),
    });
  }
  return found;
}

std::string address_of(const kfd_node& n) {
  std::array<char, 32> text{};
  std::snprintf(
    text.data(),
    text.size(),
    "%04x:%02x:%02x.0",
    static_cast<unsigned>(n.domain),
    static_cast<unsigned>(n.location >> 8 & 0xff),
    static_cast<unsigned>(n.location >> 3 & 0x1f)
  );
  return text.data();
}

/// `GPU-` and the unique id as ROCr takes it; a partition that is not the first says which it is.
std::string id_of(const kfd_node& n) {
  std::string id = address_of(n);
  if (n.unique_id != 0) {
    std::array<char, 32> text{};
    std::snprintf(
      text.data(), text.size(), "GPU-%016llx", static_cast<unsigned long long>(n.unique_id)
    );
    id = text.data();
  }
  return n.partition() == 0 ? id : id + "/" + std::to_string(n.partition());
}

/// 90402: major 9, minor 4, step 2, of which the last two are hexadecimal digits.
std::string target_name(std::uint64_t version) {
  std::array<char, 32> text{};
  std::snprintf(
    text.data(),
    text.size(),
    "gfx%u%x%x",
    static_cast<unsigned>(version / 10'000),
    static_cast<unsigned>(version / 100 % 100),
    static_cast<unsigned>(version % 100)
  );
  return text.data();
}

std::string product_of(const fs::path& device, const kfd_node& n) {
  auto name = read_line(device / "product_name").text;
  auto target = target_name(n.target);
  return name.empty() ? "AMD " + target : name + " (" + target + ")";
}

// -- figures ----------------------------------------------------------------------------------

struct figure {
  const char* file;
  const char* unit;
  sample_kind kind = sample_kind::gauge;
};

constexpr figure figures[] = {
  {"gpu_busy_percent", "%"},
  {"mem_busy_percent", "%"},
  {"mem_info_vram_total", "bytes"},
  {"mem_info_vram_used", "bytes"},
  {"mem_info_gtt_used", "bytes"},
  {"pcie_replay_count", "count", sample_kind::counter},
};
constexpr figure words[] = {
  {"current_compute_partition", "", sample_kind::state},
  {"current_memory_partition", "", sample_kind::state},
};
constexpr figure sensors[] = {
  {"power1_average", "uW"},
  {"power1_input", "uW"},
  {"power1_cap", "uW"},
  {"temp1_input", "mC"},
  {"temp2_input", "mC"},
  {"temp3_input", "mC"},
  {"freq1_input", "Hz"},
  {"freq2_input", "Hz"},
};

fs::path hwmon_of(const fs::path& device) {
  std::error_code none; // A card without sensors has no such folder.
  for (const auto& entry : fs::directory_iterator{device / "hwmon", none})
    return entry.path();
  return device / "hwmon/none";
}

struct sampler {
  std::string id;
  wall_ms now;
  std::vector<telemetry::sample>& to;

  void
  add(const std::string& name, const char* unit, sample_kind kind, telemetry::reading r) const {
    if (const auto* n = std::get_if<std::uint64_t>(&r);
        n && std::string_view{unit} == "%" && *n > 100)
      r = telemetry::unavailable{"the file holds " + std::to_string(*n) + " %"};
    to.push_back({"amd", name, unit, kind, id, std::move(r), now});
  }
};

/// Reading a sensor of a card that sleeps wakes it, or more.
void sample(const fs::path& device, const sampler& s) {
  auto status = read_line(device / "power/runtime_status").text;
  s.add("power/runtime_status", "", sample_kind::state, read_word(device / "power/runtime_status"));
  auto sleeps = status == "suspended" || status == "suspending";
  auto number_in = [&](const fs::path& file) {
    return sleeps ? telemetry::reading{telemetry::unavailable{"the device is suspended"}}
                  : read_number(file);
  };
  for (const auto& f : figures)
    s.add(f.file, f.unit, f.kind, number_in(device / f.file));
  for (const auto& f : words)
    s.add(f.file, f.unit, f.kind, read_word(device / f.file));
  auto hwmon = hwmon_of(device);
  for (const auto& f : sensors) {
    auto file = std::string{f.file};
    auto label = read_line(hwmon / (file.substr(0, file.find('_')) + "_label")).text;
    auto name = "hwmon/" + file + (label.empty() ? "" : "/" + label);
    s.add(name, f.unit, f.kind, number_in(hwmon / f.file));
  }
}

/// Uncorrectable errors of a block, and their count as a figure.
std::string health(const fs::path& device, const sampler& s) {
  std::string sick;
  for (const auto* block : {"umc", "gfx", "sdma", "mmhub", "xgmi_wafl"}) {
    auto name = std::string{"ras/"} + block + "_err_count";
    auto text = read_small_file(device / name);
    if (!text)
      continue; // Blocks differ from card to card.
    for (const auto* key : {"ue", "ce"}) {
      auto count = number_after(*text, key);
      s.add(
        name + "/" + key,
        "count",
        sample_kind::counter,
        count ? telemetry::reading{*count}
              : telemetry::reading{telemetry::failed{EINVAL, "no count"}}
      );
      if (std::string_view{key} == "ue" && count.value_or(0) > 0 && sick.empty())
        sick = "RAS: " + std::to_string(*count) + " uncorrectable errors of " + block;
    }
  }
  return sick;
}

// -- who uses it ------------------------------------------------------------------------------

std::vector<device_process> processes_of(const kfd_node& n, const fs::path& root) {
  std::vector<device_process> found;
  auto all = root / kfd / "proc";
  for (auto pid : numbered_folders(all)) {
    auto held = read_number(all / std::to_string(pid) / ("vram_" + std::to_string(n.gpu_id)));
    if (const auto* bytes = std::get_if<std::uint64_t>(&held); bytes && *bytes > 0)
      found.push_back({pid, *bytes});
    if (found.size() == limits::probe_list)
      break;
  }
  return found;
}

std::optional<std::uint64_t> used_on(const fs::path& device, const kfd_node& n) {
  auto used = read_number(device / "mem_info_vram_used");
  const auto* bytes = std::get_if<std::uint64_t>(&used);
  // A package counts for all of its partitions together.
  return bytes && n.partition() == 0 ? std::optional{*bytes} : std::nullopt;
}

} // namespace

family_look look_at_amd(const fs::path& root, wall_ms now) {
  family_look look;
  auto nodes = read_nodes(root);
  std::map<std::string, unsigned> partitions;
  for (const auto& n : nodes)
    ++partitions[address_of(n)];
  std::map<std::string, std::string> sick; ///< Of a package; its sensors are read once.
  for (const auto& n : nodes) {
    auto pci = address_of(n);
    auto device = root / "sys/bus/pci/devices" / pci;
    sampler s{id_of(n), now, look.samples};
    if (!sick.contains(pci)) {
      sample(device, s);
      sick[pci] = health(device, s);
    }
    probed_device made{
      .id = id_of(n),
      .pci = pci,
      .name = product_of(device, n),
      .memory_bytes = n.memory_bytes,
      .used_bytes = partitions[pci] == 1 ? used_on(device, n) : std::nullopt,
      .processes = processes_of(n, root),
    };
    if (!sick[pci].empty()) {
      made.state = fabric::device_state::sick;
      made.why = sick[pci];
    }
    look.devices.push_back(std::move(made));
  }
  auto add = [&look](const char* name, const fs::path& file) {
    if (auto text = read_line(file).text; !text.empty())
      look.stack[name] = text;
  };
  add("amd.driver", root / "sys/module/amdgpu/version");
  add("amd.driver.source", root / "sys/module/amdgpu/srcversion");
  add("amd.rocm", root / "opt/rocm/.info/version");
  return look;
}

} // namespace assay::agent
