#pragma once
// Limits of what coordinators say to each other; the rest are in src/base/limits.hpp.

#include "src/base/limits.hpp"

namespace assay::limits {

/// One frame between coordinators: a page, or an entry of the largest kind, with what is around it.
inline constexpr std::size_t peer_frame_bytes = 11 << 20;
inline constexpr std::size_t peer_entries = 4'096;    ///< Of one append.
inline constexpr std::size_t peer_page_rows = 65'536; ///< Of one page.
inline constexpr std::size_t peer_address_bytes = 256;
inline constexpr std::size_t peers = 64;

/// Unsent bytes per peer and lane; what does not fit is dropped, and the engine says it again.
inline constexpr std::size_t peer_consensus_bytes = 24 << 20;
inline constexpr std::size_t peer_bulk_bytes = 96 << 20;

static_assert(batch_frame_bytes + (1 << 20) < peer_frame_bytes, "the largest entry fits one frame");
static_assert(row_bytes + (1 << 19) < peer_frame_bytes, "the largest row fits one page");
static_assert(page_bytes < peer_frame_bytes);
static_assert(2 * peer_frame_bytes <= peer_consensus_bytes);

} // namespace assay::limits
