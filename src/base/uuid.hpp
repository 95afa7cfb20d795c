#pragma once
// UUIDv7 (RFC 9562): 48 bits of Unix milliseconds, then chance. The ids that askers give to
// records.

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

struct uuid {
  std::array<std::uint8_t, 16> bytes{};

  friend auto operator<=>(const uuid&, const uuid&) = default;
};

/// Pure: time and chance are handed in.
uuid make_uuid7(std::uint64_t unix_ms, const std::array<std::uint8_t, 10>& chance);

/// From the wall clock and the system's random source. For edges only (CLI, API, actors).
uuid new_uuid7();

/// `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`, lower case.
std::string to_text(const uuid& id);
/// The last 12 digits, all of them chance: enough for the names that people type.
std::string short_name(const uuid& id);
std::optional<uuid> parse_uuid(std::string_view text);

} // namespace assay
