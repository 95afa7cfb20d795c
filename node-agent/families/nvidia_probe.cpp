#include "node-agent/families/nvidia_probe.hpp"

#include "node-agent/families/xid.hpp"
#include "node-agent/host/process.hpp"
#include "src/base/device_limits.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>

namespace assay::agent {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t record_bytes = 8'192; ///< The kernel writes no longer one.

/// `Device Minor:  \t 3` in the driver's own file about the device.
std::optional<std::string> minor_of(const fs::path& information) {
  auto text = read_small_file(information);
  auto at = text ? text->find("Device Minor:") : std::string::npos;
  if (at == std::string::npos)
    return {};
  auto digits = text->find_first_of("0123456789", at);
  return text->substr(digits, text->find_first_not_of("0123456789", digits) - digits);
}

/// Wall time of the kernel's clock, in which its log counts.
wall_ms boot_time() {
  timespec since{};
  ::clock_gettime(CLOCK_BOOTTIME, &since);
  return {wall_now().value - (since.tv_sec * 1'000 + since.tv_nsec / 1'000'000)};
}

std::string shortened(std::string text) {
  if (text.size() > limits::probe_text_bytes)
    text.resize(limits::probe_text_bytes);
  return text;
}

/// Events name devices as the library does, where it shows them.
void name_devices(family_look& look) {
  for (auto& event : look.events) {
    auto at = std::ranges::find(look.devices, event.what.device, &probed_device::pci);
    if (at != look.devices.end())
      event.what.device = at->id;
  }
}

/// The library's own word on Xids, for an agent that may not read the kernel's log. It has a number
/// and no text, and begins with the first look.
class xid_listener {
public:
  void hear(nvml::library& lib, nvml::device d, const std::string& id) {
    if (!ids_.contains(d))
      lib.listen_to(d);
    ids_[d] = id;
  }
  void tell(const nvml::library& lib, wall_ms now, family_look& look) const {
    for (const auto& one : lib.news()) {
      auto id = ids_.find(one.of);
      xid_line line{"", one.code, "Xid " + std::to_string(one.code) + ", as NVML says"};
      look.events.push_back(
        {{
           .family = catalog::family::nvidia,
           .device = id == ids_.end() ? std::string{} : id->second,
           .name = "Xid",
           .code = one.code,
           .text = line.text,
           .at = now,
         },
         why_sick(line).value_or("")}
      );
    }
  }

private:
  std::map<nvml::device, std::string> ids_;
};

/// All that one open library shows, each device in place of its partitions where it has some.
struct shown_devices {
  std::vector<probed_device> all;
  std::string missing; ///< Why handles were refused.
};

shown_devices show(nvml::library& lib, xid_listener* listener, family_look& look, wall_ms now) {
  shown_devices shown;
  auto handles = lib.handles();
  if (!handles) {
    look.fault = lib.text_of(handles.error());
    shown.missing = look.fault;
    return shown;
  }
  for (const auto& one : *handles) {
    if (!one.of) {
      if (one.result != nvml::blocked)
        shown.missing = lib.text_of(one.result);
      continue;
    }
    auto whole = lib.describe(one.of);
    lib.sample(one.of, whole.id, now, look.samples);
    if (listener)
      listener->hear(lib, one.of, whole.id);
    auto parts = lib.partitions(one.of, whole);
    if (parts.empty())
      parts.push_back(std::move(whole));
    std::ranges::move(parts, std::back_inserter(shown.all));
  }
  return shown;
}

/// What one child has in hand from look to look.
struct in_hand {
  explicit in_hand(const fs::path& root) : log{root} {}

  std::unique_ptr<nvml::library> lib;
  kernel_log log;
  xid_listener listener; ///< Used where the log may not be read.
};

family_look look_once(in_hand& has, const fs::path& root) {
  family_look look;
  auto now = wall_now();
  auto bus = nvidia_devices(read_pci_bus(root));
  if (!has.lib) {
    auto opened = nvml::library::open();
    if (opened)
      has.lib = std::move(*opened);
    else
      look.fault = opened.error();
  }
  shown_devices shown{{}, look.fault};
  auto* listener = has.log.is_open() ? nullptr : &has.listener;
  if (has.lib) {
    shown = show(*has.lib, listener, look, now);
    look.stack = has.lib->stack();
  }
  auto is_ours = [&root](const pci_device& d) { return is_within_reach(d, root); };
  look.devices = join_bus(std::move(shown.all), bus, shown.missing, is_ours);
  look.events = has.log.news();
  if (has.lib && listener)
    listener->tell(*has.lib, now, look);
  if (look.events.size() > limits::device_events)
    look.events.erase(look.events.begin(), look.events.end() - limits::device_events);
  name_devices(look);
  std::ranges::move(has.log.samples(now), std::back_inserter(look.samples));
  return look;
}

} // namespace

std::vector<pci_device> nvidia_devices(const std::vector<pci_device>& bus) {
  std::vector<pci_device> found;
  for (const auto& d : bus)
    if (d.vendor == nvidia_vendor && is_accelerator_class(d))
      found.push_back(d);
  return found;
}

bool is_within_reach(const pci_device& d, const fs::path& root) {
  if (d.driver != "nvidia")
    return false;
  // A container has the files of its own devices only.
  auto minor = minor_of(root / "proc/driver/nvidia/gpus" / d.address / "information");
  if (!minor)
    return false;
  auto node = root / "dev" / ("nvidia" + *minor);
  auto file = ::open(node.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  auto error = errno;
  if (file >= 0)
    ::close(file);
  return file >= 0 || (error != ENOENT && error != EPERM && error != EACCES);
}

std::vector<probed_device> join_bus(
  std::vector<probed_device> shown,
  const std::vector<pci_device>& bus,
  const std::string& missing,
  const std::function<bool(const pci_device&)>& is_ours
) {
  auto joined = std::move(shown);
  for (const auto& d : bus) {
    if (std::ranges::find(joined, d.address, &probed_device::pci) != joined.end() || !is_ours(d))
      continue;
    joined.push_back({
      .id = d.address,
      .pci = d.address,
      .state = fabric::device_state::lost,
      .why = "it is on the bus, and NVML does not show it"
             + (missing.empty() ? std::string{} : " (" + missing + ")"),
    });
  }
  return joined;
}

// -- the kernel's log -------------------------------------------------------------------------

kernel_log::kernel_log(const fs::path& root) {
  file_ = ::open((root / "dev/kmsg").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  error_ = file_ < 0 ? errno : 0;
}

kernel_log::~kernel_log() {
  if (file_ >= 0)
    ::close(file_);
}

std::vector<probed_event> kernel_log::news() {
  std::vector<probed_event> found;
  auto boot = boot_time();
  std::array<char, record_bytes> buffer{};
  while (file_ >= 0) {
    auto got = ::read(file_, buffer.data(), buffer.size());
    if (got < 0 && (errno == EPIPE || errno == EINTR))
      continue; // EPIPE: the next record was overwritten; the one after it shows how many were.
    if (got < 0 && errno != EAGAIN)
      error_ = errno;
    if (got <= 0)
      break;
    auto record = parse_kernel_record({buffer.data(), static_cast<std::size_t>(got)});
    if (!record)
      continue;
    if (last_ && record->sequence > *last_ + 1)
      lost_ += record->sequence - *last_ - 1;
    last_ = record->sequence;
    auto xid = parse_xid(record->text);
    if (!xid)
      continue;
    found.push_back(
      {{
         .family = catalog::family::nvidia,
         .device = xid->pci,
         .name = "Xid",
         .code = xid->code,
         .text = shortened(xid->text),
         .at = {boot.value + static_cast<std::int64_t>(record->micros / 1'000)},
       },
       why_sick(*xid).value_or("")}
    );
  }
  return found;
}

std::vector<telemetry::sample> kernel_log::samples(wall_ms now) const {
  using telemetry::reading;
  auto lost = error_ ? reading{telemetry::failed{error_, std::strerror(error_)}} : reading{lost_};
  return {
    {"nvidia", "kmsg.lost", "records", telemetry::sample_kind::counter, "", std::move(lost), now}};
}

// -- the child --------------------------------------------------------------------------------

std::function<family_look()> nvidia_looker(const fs::path& root) {
  return [root, has = std::make_shared<in_hand>(root)] { return look_once(*has, root); };
}

} // namespace assay::agent
