#pragma once
// Whose clock is off, from what all members' clocks say. Pure.
//
// The leader stamps, so a leader whose clock is off by more than `limits::clock_spread` from the
// median stamps nothing and hands over. Of two clocks nobody can say which one is wrong: that takes
// three, our own included.

#include <cstdint>
#include <map>
#include <string>

namespace assay::app {

/// Their clock less ours, in ms, by member; only those heard of late.
using clock_offsets = std::map<std::uint64_t, std::int64_t>;

/// Distance of our own clock from the median of all, 0 when it is within the spread or cannot be
/// told. Of an even number the middle one nearer to ours counts.
std::int64_t own_clock_error(const clock_offsets& others);

/// The member, of those in `others`, that is nearest to the median; 0: there is none.
std::uint64_t best_clock(const clock_offsets& others);

} // namespace assay::app
