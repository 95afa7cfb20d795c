#include "node-agent/families/pci.hpp"

#include "node-agent/host/process.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

namespace assay::agent {

namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t display_controller = 0x03;
constexpr std::uint32_t processing_accelerator = 0x12;

std::optional<std::uint32_t> from_hex(std::string_view text, std::uint32_t most) {
  std::uint32_t value = 0;
  auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (bad != std::errc{} || end != text.data() + text.size() || value > most)
    return {};
  return value;
}

/// Files of sysfs hold `0x10de` and a newline.
std::uint32_t number_in(const fs::path& file) {
  auto text = read_small_file(file).value_or("");
  text.erase(text.find_last_not_of(" \n") + 1);
  std::string_view digits = text;
  if (digits.starts_with("0x"))
    digits.remove_prefix(2);
  return from_hex(digits, 0xffffffff).value_or(0);
}

std::string driver_of(const fs::path& folder) {
  std::error_code none;
  auto target = fs::read_symlink(folder / "driver", none);
  return none ? std::string{} : target.filename().native();
}

} // namespace

std::optional<std::string> pci_address(std::string_view text) {
  std::optional<std::uint32_t> function = 0;
  if (auto dot = text.rfind('.'); dot != std::string_view::npos) {
    function = from_hex(text.substr(dot + 1), 7);
    text = text.substr(0, dot);
  }
  auto last = text.rfind(':');
  if (last == std::string_view::npos)
    return {};
  auto slot = from_hex(text.substr(last + 1), 0x1f);
  auto before = text.substr(0, last);
  auto first = before.rfind(':');
  auto bus = from_hex(first == std::string_view::npos ? before : before.substr(first + 1), 0xff);
  auto domain = first == std::string_view::npos ? std::optional<std::uint32_t>{0}
                                                : from_hex(before.substr(0, first), 0xffffffff);
  if (!function || !slot || !bus || !domain)
    return {};
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%04x:%02x:%02x.%x", *domain, *bus, *slot, *function);
  return out.data();
}

std::vector<pci_device> read_pci_bus(const fs::path& root) {
  std::vector<pci_device> found;
  std::error_code none; // A machine without PCI has no such folder.
  for (fs::directory_iterator entry{root / "sys/bus/pci/devices", none}, end; !none && entry != end;
       entry.increment(none)) {
    auto address = pci_address(entry->path().filename().native());
    if (!address)
      continue;
    found.push_back({
      .address = *address,
      .vendor = static_cast<std::uint16_t>(number_in(entry->path() / "vendor")),
      .device = static_cast<std::uint16_t>(number_in(entry->path() / "device")),
      .device_class = number_in(entry->path() / "class"),
      .driver = driver_of(entry->path()),
    });
  }
  std::ranges::sort(found, {}, &pci_device::address);
  return found;
}

bool is_accelerator_class(const pci_device& d) {
  auto base = d.device_class >> 16;
  return base == display_controller || base == processing_accelerator;
}

} // namespace assay::agent
