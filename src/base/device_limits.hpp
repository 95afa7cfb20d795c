#pragma once
// Limits of devices and of those who watch them; the rest are in src/base/limits.hpp.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace assay::limits {

using namespace std::chrono_literals;

inline constexpr std::size_t device_events = 128; ///< Kept of one host, the newest.

inline constexpr std::size_t probe_line_bytes = 4 << 20; ///< One answer of a probe child.
inline constexpr std::size_t probe_text_bytes = 4'096;
inline constexpr std::size_t probe_list = 1'024; ///< Devices, their processes, events.
inline constexpr auto probe_patience = 4s;       ///< For an answer; then the child is killed.
inline constexpr auto probe_pause_first = 1s; ///< Before a child that ended is begun anew, doubling
inline constexpr auto probe_pause_most = 30s; ///< up to this.

/// What a device may hold without a process of ours before it counts as somebody else's: contexts
/// of the driver and of a display.
inline constexpr std::uint64_t foreign_memory_bytes = 1 << 30;

} // namespace assay::limits
