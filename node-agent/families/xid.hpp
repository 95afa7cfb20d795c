#pragma once
// What the kernel log says of NVIDIA devices: Xid lines, and what each of them means for work.
//
// The numbers' readings are those of the vendor's public catalogue of Xid errors. A line is kept
// raw; the log is nobody's API, so what is no Xid line is passed over.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::agent {

struct xid_line {
  std::string pci; ///< As `pci_address` writes it.
  std::int64_t code = 0;
  std::string text; ///< From `Xid` on.

  friend bool operator==(const xid_line&, const xid_line&) = default;
};

/// The Xid of a line of the kernel log, in whatever form drivers write it; nothing for any other
/// line, and for the SXid of a switch, which is no device that computes.
std::optional<xid_line> parse_xid(std::string_view line);

/// One record of /dev/kmsg, `PRIORITY,SEQUENCE,MICROSECONDS,FLAGS;TEXT`.
struct kernel_record {
  std::uint64_t sequence = 0;
  std::uint64_t micros = 0; ///< Since boot.
  std::string_view text;
};
std::optional<kernel_record> parse_kernel_record(std::string_view record);

/// Why a device gets no more work after that Xid; nothing where the program was at fault, or where
/// the line itself says that all is well again.
std::optional<std::string> why_sick(const xid_line& x);

} // namespace assay::agent
