#pragma once
// When an endpoint is left alone, and for how long.

#include <chrono>
#include <cstdint>

namespace assay::limits {

/// A failure weighs one, and a tenth less with each attempt that follows: five in a row open a
/// breaker, or four in ten for a while.
inline constexpr double trouble_kept = 0.9;
inline constexpr double trouble_most = 4.0;
inline constexpr auto breaker_first = std::chrono::seconds{5}; ///< Doubled with each opening
inline constexpr auto breaker_most = std::chrono::seconds{60}; ///< up to this.

/// Silence that is this many times what is owed is none that work explains.
inline constexpr int silence_slack = 4;
inline constexpr int silence_gaps = 16; ///< Between two contents of a stream.
inline constexpr auto silence_least = std::chrono::seconds{2};
inline constexpr auto silence_most = std::chrono::seconds{120}; ///< Where nothing is known, too.

inline constexpr auto full_first = std::chrono::seconds{1}; ///< An engine that named no time.
inline constexpr auto full_most = std::chrono::seconds{60};

inline constexpr std::uint32_t warm_after = 8; ///< Answers of a new or returned endpoint,
inline constexpr auto warm_most = std::chrono::seconds{60}; ///< or so long.

inline constexpr std::uint32_t out_share = 2; ///< At most one in so many of a group is out.

} // namespace assay::limits
