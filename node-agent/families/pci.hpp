#pragma once
// What is on the PCI bus, from sysfs: the list that no dead driver and no lost device can shorten,
// and onto which every library's view is joined.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::agent {

struct pci_device {
  std::string address; ///< As `pci_address` writes it.
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
  std::uint32_t device_class = 0; ///< Class, subclass and interface: 0x030200.
  std::string driver;             ///< Empty: none is bound.

  friend bool operator==(const pci_device&, const pci_device&) = default;
};

/// `0000:65:00.0`: NVML writes eight digits for the domain, sysfs four, kernel logs leave out the
/// function and `lspci` the domain; what is left out is zero. Nothing for what is no address.
std::optional<std::string> pci_address(std::string_view text);

/// Every device below `root`/sys/bus/pci/devices, by address. Entries that cannot be read are left
/// out.
std::vector<pci_device> read_pci_bus(const std::filesystem::path& root = "/");

/// Display and processing accelerators; a card's audio, bridges and switches are none.
bool is_accelerator_class(const pci_device& d);

} // namespace assay::agent
