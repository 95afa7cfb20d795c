#pragma once
// Floors and ceilings turned into a chance for each candidate. Pure numbers, in basis points.

#include <cstddef>
#include <cstdint>
#include <span>

namespace assay::routing {

/// How good a choice is; less is better. Tiers keep what cannot be compared apart.
struct rank {
  std::uint32_t tier;
  double value;
  std::uint32_t tie;

  friend auto operator<=>(const rank&, const rank&) = default;
};

/// Without initialisers: `route` keeps room for many and uses few.
struct portion {
  std::uint32_t floor;
  std::uint32_t ceiling; ///< Above 0.
  bool hard;
  routing::rank rank;
  std::uint32_t bps; ///< Out: its part of 10,000.
};

/// Gives each its floor, then the rest to the best-ranked up to their ceilings (`by_rank`), or to
/// all in proportion to their room. What gated-out implementations left is spread over soft
/// ceilings in proportion. Returns what hard ceilings leave unserved.
std::uint32_t divide(std::span<portion> portions, bool by_rank);

/// Which portion the point 0..9,999 falls into, in the given order, so that a caller's side of a
/// split stays while ranks move; the size of `portions` when it falls into none.
std::size_t portion_at(std::span<const portion> portions, std::uint32_t point);

} // namespace assay::routing
