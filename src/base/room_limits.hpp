#pragma once
// Limits of the room that is kept for essential records; the rest are in src/base/limits.hpp.

#include "src/base/limits.hpp"

namespace assay::limits {

/// Room besides `state_reserve_bytes`, which only records that undo something may use: more than
/// 1,000 small ones take. As what is written; with its trees' pages it is twice as much of a disk.
inline constexpr std::size_t kept_log_bytes = 2 << 20;
inline constexpr std::size_t kept_state_bytes = 4 << 20;
/// Of the address space; above it they are refused, too.
inline constexpr std::uint32_t map_kept_percent = 85;

static_assert(map_use_percent < map_kept_percent);

} // namespace assay::limits
