#include "node-agent/families/xid.hpp"

#include "node-agent/families/pci.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace assay::agent {

namespace {

struct meaning {
  std::int64_t code;
  const char* text;
};

/// Those after which the device itself is not to be trusted.
constexpr std::array sick_codes{
  meaning{48, "double bit ECC error"},
  meaning{61, "microcontroller breakpoint"},
  meaning{62, "microcontroller halt"},
  meaning{64, "rows could not be remapped"},
  meaning{69, "graphics engine class error"},
  meaning{74, "NVLink error"},
  meaning{79, "fallen off the bus"},
  meaning{92, "high single bit ECC rate"},
  meaning{95, "uncontained ECC error"},
  meaning{109, "context switch timeout"},
  meaning{119, "GSP does not answer"},
  meaning{120, "GSP error"},
};

constexpr std::int64_t recovery_action_changed = 154;
constexpr std::string_view now_none = " to 0x0 ";

bool take_number(std::string_view& text, std::uint64_t& number) {
  auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (bad != std::errc{})
    return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c))
    return false;
  text.remove_prefix(1);
  return true;
}

} // namespace

std::optional<xid_line> parse_xid(std::string_view line) {
  constexpr std::string_view begins = "NVRM: Xid (";
  auto at = line.find(begins);
  if (at == std::string_view::npos)
    return {};
  auto rest = line.substr(at + begins.size());
  auto close = rest.find("): ");
  if (close == std::string_view::npos)
    return {};
  auto where = rest.substr(0, close);
  if (where.starts_with("PCI:"))
    where.remove_prefix(4);
  auto address = pci_address(where);
  rest.remove_prefix(close + 3);
  std::uint64_t code = 0;
  if (!address || !take_number(rest, code))
    return {};
  auto text = line.substr(at + 6);
  text = text.substr(0, text.find('\n'));
  return xid_line{*address, static_cast<std::int64_t>(code), std::string{text}};
}

std::optional<kernel_record> parse_kernel_record(std::string_view record) {
  std::uint64_t priority = 0;
  kernel_record read;
  if (!take_number(record, priority) || !take(record, ',') || !take_number(record, read.sequence)
      || !take(record, ',') || !take_number(record, read.micros))
    return {};
  auto begins = record.find(';');
  if (begins == std::string_view::npos)
    return {};
  read.text = record.substr(begins + 1);
  return read;
}

std::optional<std::string> why_sick(const xid_line& x) {
  if (x.code == recovery_action_changed && x.text.find(now_none) == std::string::npos)
    return x.text;
  auto known = std::ranges::find(sick_codes, x.code, &meaning::code);
  if (known != sick_codes.end())
    return "Xid " + std::to_string(x.code) + ": " + known->text;
  // 137 and 144 to 150 are NVLink's and the fabric's; their severity is a word of the line.
  if ((x.code == 137 || (x.code >= 144 && x.code <= 150)) && x.text.find(" Fatal ") != std::string::npos)
    return "Xid " + std::to_string(x.code) + ": fatal NVLink error";
  return {};
}

} // namespace assay::agent
