#include "node-agent/families/nvml.hpp"

#include "node-agent/families/pci.hpp"
#include "src/base/device_limits.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

namespace assay::agent::nvml {

namespace {

constexpr auto file_name = "libnvidia-ml.so.1";
constexpr std::size_t processes_first = 64;
constexpr std::size_t processes_most = 4'096;
constexpr unsigned mig_most = 64;

template <class Function>
void find(void* in, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(in, name));
}

functions symbols_of(void* in) {
  functions f;
  find(in, "nvmlInit_v2", f.init);
  find(in, "nvmlShutdown", f.shutdown);
  find(in, "nvmlErrorString", f.error_string);
  find(in, "nvmlSystemGetDriverVersion", f.driver_version);
  find(in, "nvmlSystemGetNVMLVersion", f.nvml_version);
  find(in, "nvmlSystemGetCudaDriverVersion_v2", f.cuda_version);
  find(in, "nvmlDeviceGetCount_v2", f.count);
  find(in, "nvmlDeviceGetHandleByIndex_v2", f.handle);
  find(in, "nvmlDeviceGetPciInfo_v3", f.pci);
  find(in, "nvmlDeviceGetUUID", f.uuid);
  find(in, "nvmlDeviceGetName", f.name);
  find(in, "nvmlDeviceGetUtilizationRates", f.utilization);
  find(in, "nvmlDeviceGetMemoryInfo_v2", f.memory_2);
  find(in, "nvmlDeviceGetMemoryInfo", f.memory_1);
  find(in, "nvmlDeviceGetPowerUsage", f.power);
  find(in, "nvmlDeviceGetEnforcedPowerLimit", f.power_limit);
  find(in, "nvmlDeviceGetTotalEnergyConsumption", f.energy);
  find(in, "nvmlDeviceGetTemperatureV", f.temperature_v);
  find(in, "nvmlDeviceGetTemperature", f.temperature);
  find(in, "nvmlDeviceGetClockInfo", f.clock);
  find(in, "nvmlDeviceGetCurrentClocksEventReasons", f.clock_reasons);
  find(in, "nvmlDeviceGetCurrentClocksThrottleReasons", f.throttle_reasons);
  find(in, "nvmlDeviceGetTotalEccErrors", f.ecc);
  find(in, "nvmlDeviceGetRemappedRows", f.remapped);
  find(in, "nvmlDeviceGetFieldValues", f.fields);
  find(in, "nvmlDeviceGetComputeRunningProcesses_v3", f.processes_3);
  find(in, "nvmlDeviceGetComputeRunningProcesses_v2", f.processes_2);
  find(in, "nvmlDeviceGetComputeRunningProcesses", f.processes_1);
  find(in, "nvmlDeviceGetMigMode", f.mig_mode);
  find(in, "nvmlDeviceGetMaxMigDeviceCount", f.mig_count);
  find(in, "nvmlDeviceGetMigDeviceHandleByIndex", f.mig_handle);
  find(in, "nvmlDeviceGetAttributes_v2", f.attributes);
  find(in, "nvmlEventSetCreate", f.event_set);
  find(in, "nvmlDeviceRegisterEvents", f.register_events);
  find(in, "nvmlEventSetWait_v2", f.wait_event);
  return f;
}

/// Those without which nothing can be said of a device.
std::string names_missing(const functions& f) {
  std::string missing;
  auto need = [&missing](bool is_there, const char* name) {
    if (!is_there)
      missing.append(missing.empty() ? " lacks " : ", ").append(name);
  };
  need(f.init, "nvmlInit_v2");
  need(f.count, "nvmlDeviceGetCount_v2");
  need(f.handle, "nvmlDeviceGetHandleByIndex_v2");
  need(f.uuid, "nvmlDeviceGetUUID");
  need(f.pci, "nvmlDeviceGetPciInfo_v3");
  return missing;
}

/// Texts end where their buffer does, whatever the library wrote.
template <class Function>
std::string text_from(Function f, device d) {
  std::array<char, 96> buffer{};
  if (call(f, d, buffer.data(), static_cast<unsigned>(buffer.size() - 1)) != ok)
    return {};
  return buffer.data();
}

template <class Function>
void add_text(std::map<std::string, std::string>& to, const char* name, Function f) {
  std::array<char, 96> buffer{};
  if (call(f, buffer.data(), static_cast<unsigned>(buffer.size() - 1)) == ok)
    to[name] = buffer.data();
}

bool exists(std::int64_t pid) {
  std::error_code none;
  return pid != 0 && std::filesystem::exists("/proc/" + std::to_string(pid), none);
}

bool reads_well(
  const std::vector<device_process>& read,
  std::uint64_t total_bytes,
  const std::function<bool(std::int64_t)>& is_pid
) {
  for (const auto& one : read)
    if (!is_pid(one.pid) || (one.bytes && *one.bytes > total_bytes))
      return false;
  return true;
}

} // namespace

telemetry::reading reading_of(code c, const std::string& text) {
  switch (c) {
  case not_supported:
  case function_missing:
  case deprecated:
    return telemetry::unsupported{};
  case in_use:
  case no_data:
  case not_ready:
    return telemetry::unavailable{text};
  default:
    return telemetry::failed{c, text};
  }
}

std::vector<device_process> parse_processes(
  const std::vector<unsigned char>& buffer,
  std::size_t count,
  const std::vector<std::size_t>& strides,
  std::uint64_t total_bytes,
  const std::function<bool(std::int64_t)>& is_pid
) {
  std::vector<device_process> first;
  for (auto stride : strides) {
    std::vector<device_process> read;
    for (std::size_t i = 0; i < count && (i + 1) * stride <= buffer.size(); ++i) {
      std::uint32_t pid = 0;
      std::uint64_t bytes = 0;
      std::memcpy(&pid, buffer.data() + i * stride, sizeof pid);
      std::memcpy(&bytes, buffer.data() + i * stride + process_memory_at, sizeof bytes);
      read.push_back({pid, bytes == memory_not_told ? std::nullopt : std::optional{bytes}});
    }
    if (reads_well(read, total_bytes, is_pid))
      return read;
    if (first.empty())
      first = std::move(read);
  }
  // Pids of another namespace look wrong by every size.
  return first;
}

result<std::unique_ptr<library>, std::string> library::open() {
  auto* opened = ::dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
  if (!opened) {
    const auto* why = ::dlerror();
    return unexpected{std::string{why ? why : "the loader does not say why"}};
  }
  auto f = symbols_of(opened);
  std::unique_ptr<library> made{new library{opened, f}};
  if (auto missing = names_missing(f); !missing.empty())
    return unexpected{file_name + missing + ": the driver is older than all that are supported"};
  if (auto c = f.init(); c != ok)
    return unexpected{made->text_of(c)};
  return made;
}

library::~library() {
  call(f_.shutdown);
  ::dlclose(opened_);
}

std::string library::text_of(code c) const {
  const auto* text = f_.error_string ? f_.error_string(c) : nullptr;
  return "NVML " + std::to_string(c) + (text && *text ? ": " + std::string{text} : "");
}

std::map<std::string, std::string> library::stack() const {
  std::map<std::string, std::string> said;
  add_text(said, "nvidia.driver", f_.driver_version);
  add_text(said, "nvidia.nvml", f_.nvml_version);
  int version = 0;
  if (call(f_.cuda_version, &version) == ok)
    said["nvidia.cuda"] =
      std::to_string(version / 1'000) + "." + std::to_string(version % 1'000 / 10);
  return said;
}

result<std::vector<library::handle>, code> library::handles() const {
  unsigned count = 0;
  if (auto c = f_.count(&count); c != ok)
    return unexpected{c};
  std::vector<handle> all;
  for (unsigned i = 0; i < count && i < limits::probe_list; ++i) {
    handle one;
    one.result = f_.handle(i, &one.of);
    if (one.result != ok)
      one.of = nullptr;
    all.push_back(one);
  }
  return all;
}

probed_device library::describe(device d) const {
  probed_device made;
  pci_info pci;
  auto c = f_.pci(d, &pci);
  pci.address[sizeof pci.address - 1] = '\0';
  if (c == ok)
    made.pci = pci_address(pci.address).value_or("");
  std::array<char, 96> uuid{};
  auto named = f_.uuid(d, uuid.data(), static_cast<unsigned>(uuid.size() - 1));
  made.id = named == ok ? uuid.data() : made.pci;
  made.name = text_from(f_.name, d);
  if (c != ok || named != ok) {
    made.state = fabric::device_state::lost;
    made.why = text_of(c != ok ? c : named);
    return made;
  }
  read_memory(d, made);
  if (made.state == fabric::device_state::offered)
    read_processes(d, made);
  if (auto sick = health(d); made.state == fabric::device_state::offered && !sick.empty()) {
    made.state = fabric::device_state::sick;
    made.why = std::move(sick);
  }
  return made;
}

void library::read_memory(device d, probed_device& to) const {
  memory_v2 second;
  auto c = call(f_.memory_2, d, &second);
  if (c == ok) {
    to.memory_bytes = second.total;
    to.used_bytes = second.used;
    return;
  }
  memory_v1 first;
  if (c != lost)
    c = call(f_.memory_1, d, &first);
  if (c == ok)
    to.memory_bytes = first.total; // Its `used` has what the driver keeps for itself in it.
  if (c == lost) {
    to.state = fabric::device_state::lost;
    to.why = text_of(c);
  }
}

void library::read_processes(device d, probed_device& to) const {
  auto ask = f_.processes_3 ? f_.processes_3 : f_.processes_2 ? f_.processes_2 : f_.processes_1;
  if (!ask)
    return;
  auto is_old = ask == f_.processes_1 && !f_.processes_3 && !f_.processes_2;
  std::vector<unsigned char> buffer;
  unsigned count = processes_first;
  auto c = too_small;
  for (; c == too_small && count <= processes_most; count *= 2) {
    // Room for the largest record, so that no driver writes past it.
    buffer.assign(count * process_stride_535, 0);
    auto given = count;
    c = ask(d, &given, buffer.data());
    if (c == ok) {
      count = given;
      break;
    }
  }
  if (c != ok)
    return;
  auto strides = is_old ? std::vector{process_stride_v1}
                        : std::vector{process_stride, process_stride_535, process_stride_v1};
  to.processes = parse_processes(
    buffer, std::min<std::size_t>(count, processes_most), strides, to.memory_bytes, exists
  );
}

/// What the device says of itself that forbids giving it work; empty: nothing.
std::string library::health(device d) const {
  field_value action{.id = 230};
  if (call(f_.fields, d, 1, &action) == ok && action.result == ok && action.type == is_u32) {
    constexpr std::array<const char*, 6> actions{
      "none", "reset the GPU", "reboot the node", "drain P2P", "drain and reset", "reset IMEX"};
    auto wanted = static_cast<std::uint32_t>(action.value);
    if (wanted != 0)
      return "NVML recovery action "
             + (wanted < actions.size() ? std::string{actions[wanted]} : std::to_string(wanted));
  }
  unsigned corrected = 0, uncorrected = 0, pending = 0, failure = 0;
  if (call(f_.remapped, d, &corrected, &uncorrected, &pending, &failure) == ok) {
    if (failure != 0)
      return "NVML: a row could not be remapped";
    if (pending != 0)
      return "NVML: remapped rows wait for a reset";
  }
  return {};
}

bool library::listen_to(device d) {
  if (!events_ && call(f_.event_set, &events_) != ok)
    events_ = nullptr;
  return events_ && call(f_.register_events, d, xid_event, events_) == ok;
}

std::vector<library::xid> library::news() const {
  std::vector<xid> found;
  event_data data;
  while (events_ && found.size() < limits::device_events
         && call(f_.wait_event, events_, &data, 0U) == ok)
    if (data.type == xid_event)
      found.push_back({data.device, static_cast<std::int64_t>(data.data)});
  return found;
}

std::vector<probed_device> library::partitions(device d, const probed_device& whole) const {
  unsigned current = 0, pending = 0, most = 0;
  if (call(f_.mig_mode, d, &current, &pending) != ok || current == 0)
    return {};
  std::vector<probed_device> all;
  if (call(f_.mig_count, d, &most) != ok)
    return {};
  for (unsigned i = 0; i < std::min(most, mig_most); ++i) {
    device part = nullptr;
    // Between instances there are holes.
    if (call(f_.mig_handle, d, i, &part) != ok || !part)
      continue;
    probed_device made;
    made.id = text_from(f_.uuid, part);
    made.pci = whole.pci;
    made.name = text_from(f_.name, part);
    if (made.name.empty())
      made.name = whole.name + " MIG";
    nvml::attributes has;
    if (call(f_.attributes, part, &has) == ok)
      made.memory_bytes = has.memory_mib << 20;
    made.state = whole.state; // What ails the card ails its parts.
    made.why = whole.why;
    if (made.id.empty())
      continue;
    read_processes(part, made);
    all.push_back(std::move(made));
  }
  return all;
}

} // namespace assay::agent::nvml
