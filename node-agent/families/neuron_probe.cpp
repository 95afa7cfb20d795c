#include "node-agent/families/neuron_probe.hpp"

#include "node-agent/families/pci.hpp"
#include "node-agent/families/sysfs.hpp"
#include "node-agent/families/tool.hpp"
#include "src/base/device_limits.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

namespace assay::agent {

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using namespace std::chrono_literals;
using telemetry::sample_kind;

constexpr auto ls_patience = 3s;      ///< Less than the agent's, so that it hears why.
constexpr auto monitor_silence = 15s; ///< Three of its own periods.
constexpr unsigned looks_per_list = 5;
constexpr std::array<std::uint16_t, 4> device_ids{0x7064, 0x7164, 0x7264, 0x7364};

std::uint64_t number_at(const json::object& from, const char* key) {
  const auto* value = from.if_contains(key);
  boost::system::error_code none; // What is no number counts as not there.
  return value ? value->to_number<std::uint64_t>(none) : 0;
}

std::string text_at(const json::object& from, const char* key) {
  const auto* value = from.if_contains(key);
  return value && value->is_string() ? std::string{value->get_string()} : std::string{};
}

/// The object at the end of a path; null where one part is none.
const json::object* object_at(const json::object* from, std::initializer_list<const char*> path) {
  for (const auto* key : path) {
    const auto* next = from ? from->if_contains(key) : nullptr;
    from = next && next->is_object() ? &next->get_object() : nullptr;
  }
  return from;
}

const json::array& list_at(const json::object* from, const char* key) {
  static const json::array nothing;
  const auto* value = from ? from->if_contains(key) : nullptr;
  return value && value->is_array() ? value->get_array() : nothing;
}

telemetry::reading reading_of(const json::value& value) {
  if (value.is_double())
    return value.get_double();
  if (value.is_uint64())
    return value.get_uint64();
  if (value.is_int64() && value.get_int64() >= 0)
    return static_cast<std::uint64_t>(value.get_int64());
  if (value.is_int64())
    return value.get_int64();
  return telemetry::unavailable{"it is no number"};
}

double as_number(const telemetry::reading& r) {
  if (const auto* whole = std::get_if<std::uint64_t>(&r))
    return static_cast<double>(*whole);
  const auto* fraction = std::get_if<double>(&r);
  return fraction ? *fraction : 0;
}

struct monitor_reader {
  wall_ms taken;
  family_look& to;

  void add(
    std::string name, const char* unit, sample_kind kind, std::string device, telemetry::reading r
  ) const {
    to.samples.push_back(
      {"neuron", std::move(name), unit, kind, std::move(device), std::move(r), taken}
    );
  }

  std::string id_of_core(std::uint64_t core) const {
    for (const auto& d : to.devices)
      if (d.number == core)
        return d.id;
    return "core " + std::to_string(core);
  }

  /// The largest that any runtime gives of each core.
  void read_cores(const json::array& runtimes) const {
    std::map<std::uint64_t, std::map<std::string, telemetry::reading>> cores;
    std::string error;
    for (const auto& one : runtimes) {
      const auto* runtime = one.is_object() ? &one.get_object() : nullptr;
      const auto* counters = object_at(runtime, {"report", "neuroncore_counters"});
      if (counters && !text_at(*counters, "error").empty()) {
        error = text_at(*counters, "error");
        continue;
      }
      const auto* in_use = object_at(counters, {"neuroncores_in_use"});
      if (!in_use)
        continue;
      for (const auto& [core, figures] : *in_use) {
        if (!figures.is_object())
          continue;
        auto& known = cores[std::strtoull(std::string{core}.c_str(), nullptr, 10)];
        for (const auto* name : {"neuroncore_utilization", "flops", "effective_flops"})
          if (const auto* value = figures.get_object().if_contains(name)) {
            auto read = reading_of(*value);
            auto [at, is_new] = known.try_emplace(name, read);
            if (!is_new && as_number(read) > as_number(at->second))
              at->second = read;
          }
      }
    }
    for (const auto& d : to.devices) {
      if (!d.number || d.state == fabric::device_state::lost)
        continue;
      auto core = cores.find(*d.number);
      if (core == cores.end()) {
        add(
          "neuroncore_utilization",
          "%",
          sample_kind::gauge,
          d.id,
          telemetry::unavailable{error.empty() ? "no runtime uses it" : error}
        );
        continue;
      }
      for (auto& [name, read] : core->second)
        add(
          name, name == "neuroncore_utilization" ? "%" : "FLOP/s", sample_kind::gauge, d.id, read
        );
    }
  }

  /// Counts are of the period, so they are told as they are and never summed here.
  void read_runtime(const json::object& runtime) const {
    auto pid = std::to_string(number_at(runtime, "pid"));
    const auto* summary = object_at(&runtime, {"report", "execution_stats", "execution_summary"});
    if (summary)
      for (const auto& [name, value] : *summary)
        if (value.is_number())
          add(
            "execution_summary." + std::string{name},
            "count in period",
            sample_kind::gauge,
            "pid " + pid,
            reading_of(value)
          );
    const auto* used = object_at(&runtime, {"report", "memory_used", "neuron_runtime_used_bytes"});
    if (used)
      for (const auto* name : {"host", "neuron_device"})
        if (const auto* value = used->if_contains(name))
          add(
            std::string{"neuron_runtime_used_bytes."} + name,
            "bytes",
            sample_kind::gauge,
            "pid " + pid,
            reading_of(*value)
          );
  }

  void read_hardware(const json::object& counters) const {
    auto error = text_at(counters, "error");
    for (const auto& one : list_at(&counters, "neuron_devices")) {
      if (!one.is_object())
        continue;
      auto device = number_at(one.get_object(), "neuron_device_index");
      for (const auto* name :
           {"mem_ecc_corrected",
            "mem_ecc_uncorrected",
            "sram_ecc_corrected",
            "sram_ecc_uncorrected"}) {
        const auto* value = one.get_object().if_contains(name);
        if (!value)
          continue;
        auto read =
          error.empty() ? reading_of(*value) : telemetry::reading{telemetry::unavailable{error}};
        auto where = "neuron" + std::to_string(device);
        add(name, "count", sample_kind::counter, where, read);
        if (std::string_view{name}.ends_with("_uncorrected") && telemetry::has_value(read) && as_number(read) > 0)
          ail(device, where + ": " + telemetry::to_text(read) + " " + name);
      }
    }
  }

  void ail(std::uint64_t device, const std::string& why) const {
    auto begins = "neuron" + std::to_string(device) + " ";
    for (auto& d : to.devices)
      if (d.name.starts_with(begins) && d.state == fabric::device_state::offered) {
        d.state = fabric::device_state::sick;
        d.why = why;
      }
  }
};

} // namespace

bool is_neuron_device(std::uint16_t vendor, std::uint16_t device) {
  return vendor == neuron_vendor && std::ranges::find(device_ids, device) != device_ids.end();
}

result<std::vector<probed_device>, std::string> parse_neuron_ls(std::string_view text) {
  boost::system::error_code bad;
  auto document = json::parse({text.data(), text.size()}, bad);
  if (bad || !document.is_array())
    return unexpected{
      std::string{"neuron-ls printed no list: "} + std::string{text.substr(0, 100)}};
  std::vector<probed_device> cores;
  for (const auto& one : document.get_array()) {
    if (!one.is_object())
      return unexpected{std::string{"an entry of neuron-ls is no object"}};
    const auto& device = one.get_object();
    auto address = pci_address(text_at(device, "bdf"));
    auto index = number_at(device, "neuron_device");
    auto count = std::min<std::uint64_t>(number_at(device, "nc_count"), limits::probe_list);
    if (!address || count == 0)
      return unexpected{std::string{"a device of neuron-ls has no bdf or no cores"}};
    const auto& ids = list_at(&device, "neuroncore_ids");
    std::vector<device_process> processes;
    for (const auto& process : list_at(&device, "neuron_processes"))
      if (process.is_object())
        processes.push_back(
          {static_cast<std::int64_t>(number_at(process.get_object(), "pid")), std::nullopt}
        );
    for (std::uint64_t core = 0; core < count; ++core) {
      boost::system::error_code none;
      auto number =
        core < ids.size() ? ids[core].to_number<std::uint64_t>(none) : index * count + core;
      cores.push_back({
        .id = *address + "/nc" + std::to_string(core),
        .pci = *address,
        .name = "neuron" + std::to_string(index) + " core " + std::to_string(core),
        .memory_bytes = number_at(device, "memory_size") / count,
        .processes = processes,
        .number = number,
      });
    }
  }
  std::ranges::sort(cores, {}, &probed_device::number);
  return cores;
}

bool add_neuron_monitor(std::string_view line, wall_ms taken, family_look& to) {
  boost::system::error_code bad;
  auto document = json::parse({line.data(), line.size()}, bad);
  if (bad || !document.is_object())
    return false;
  monitor_reader reader{taken, to};
  const auto& root = document.get_object();
  const auto& runtimes = list_at(&root, "neuron_runtime_data");
  reader.read_cores(runtimes);
  for (const auto& one : runtimes)
    if (one.is_object())
      reader.read_runtime(one.get_object());
  if (const auto* counters = object_at(&root, {"system_data", "neuron_hw_counters"}))
    reader.read_hardware(*counters);
  return true;
}

std::function<family_look()> neuron_looker(const fs::path& root) {
  struct in_hand {
    line_stream monitor{{"neuron-monitor"}, monitor_silence};
    result<std::vector<probed_device>, std::string> listed = unexpected{std::string{}};
    unsigned looks = 0;
  };
  return [root, has = std::make_shared<in_hand>()] {
    family_look look;
    if (has->looks++ % looks_per_list == 0 || !has->listed) {
      auto printed = output_of({"neuron-ls", "-j"}, ls_patience);
      has->listed =
        printed ? parse_neuron_ls(*printed)
                : result<std::vector<probed_device>, std::string>{unexpected{printed.error()}};
    }
    if (has->listed)
      look.devices = *has->listed;
    else
      look.fault = has->listed.error();
    for (const auto& d : read_pci_bus(root))
      if (is_neuron_device(d.vendor, d.device) && d.driver == "neuron" && std::ranges::find(look.devices, d.address, &probed_device::pci) == look.devices.end())
        look.devices.push_back({
          .id = d.address,
          .pci = d.address,
          .state = fabric::device_state::lost,
          .why = "it is on the bus, and neuron-ls does not list it"
                 + (look.fault.empty() ? std::string{} : " (" + look.fault + ")"),
        });
    auto said = has->monitor.newest();
    if (said.text.empty() || !add_neuron_monitor(said.text, said.at, look))
      for (const auto& d : look.devices)
        if (d.number)
          look.samples.push_back(
            {"neuron",
             "neuroncore_utilization",
             "%",
             sample_kind::gauge,
             d.id,
             telemetry::unavailable{
               said.why_none.empty() ? "neuron-monitor has said nothing yet" : said.why_none},
             wall_now()}
          );
    if (auto version = read_line(root / "sys/module/neuron/version").text; !version.empty())
      look.stack["neuron.driver"] = version;
    return look;
  };
}

} // namespace assay::agent
