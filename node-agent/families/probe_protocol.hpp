#pragma once
// What a probe child answers, as values and as one line of JSON (docs/families.md): the devices as
// their library shows them, the fields of the stack, native samples and events.
//
// The same protocol is spoken by the children that we bring and by a site's own plug-ins. What
// cannot be read is refused with the name of the member; no number is made of what is none.

#include "src/base/clock.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/telemetry/native.hpp"
#include "src/wire/fabric_messages.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::agent {

struct device_process {
  std::int64_t pid = 0;
  std::optional<std::uint64_t> bytes; ///< Nothing: the library does not say.

  friend bool operator==(const device_process&, const device_process&) = default;
};

/// One device, joined onto the bus.
struct probed_device {
  std::string id;  ///< UUID; the PCI address where its library does not show it.
  std::string pci; ///< As `pci_address` writes it; empty: it is on no bus.
  std::string name;
  std::uint64_t memory_bytes = 0;
  std::optional<std::uint64_t> used_bytes;
  fabric::device_state state = fabric::device_state::offered; ///< `withheld` is ours to say.
  std::string why;
  std::vector<device_process> processes;
  std::optional<std::uint64_t> number; ///< What its runtime's mask calls it; nothing: its place.

  friend bool operator==(const probed_device&, const probed_device&) = default;
};

struct probed_event {
  fabric::device_event what;
  std::string sick; ///< Why the device gets no more work after it; empty: it does.

  friend bool operator==(const probed_event&, const probed_event&) = default;
};

/// What a child is asked, again and again.
inline constexpr std::string_view probe_question = R"({"ask":"look"})";

/// One look at a family.
struct family_look {
  std::vector<probed_device> devices;       ///< In the library's own order.
  std::map<std::string, std::string> stack; ///< Named as in a fingerprint.
  std::vector<telemetry::sample> samples;
  std::vector<probed_event> events; ///< Since the look before.
  std::string fault;                ///< Why the library cannot be asked; empty: it can.

  friend bool operator==(const family_look&, const family_look&) = default;
};

/// One line, without its end.
std::string to_line(const family_look& look);

/// Refused: no JSON, a member of another type, more than the limits allow.
result<family_look, problem> parse_look(std::string_view family, std::string_view line);

} // namespace assay::agent
