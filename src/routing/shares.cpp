#include "src/routing/shares.hpp"

#include <algorithm>

namespace assay::routing {

namespace {

constexpr std::uint32_t whole = 10'000;

/// Raises soft ceilings in proportion until all of them together reach the whole.
void spread_gap(std::span<portion> portions) {
  std::uint64_t all = 0;
  std::uint64_t soft = 0;
  for (const auto& p : portions) {
    all += p.ceiling;
    soft += p.hard ? 0 : p.ceiling;
  }
  if (all >= whole || soft == 0)
    return;
  auto gap = whole - all;
  auto left = gap;
  portion* first = nullptr;
  for (auto& p : portions) {
    if (p.hard)
      continue;
    if (!first)
      first = &p;
    auto more = gap * p.ceiling / soft;
    p.ceiling += static_cast<std::uint32_t>(more);
    left -= more;
  }
  first->ceiling += static_cast<std::uint32_t>(left); // Roundings.
}

std::uint32_t fill_best_first(std::span<portion> portions, std::uint32_t rest) {
  while (rest > 0) {
    portion* best = nullptr;
    for (auto& p : portions)
      if (p.bps < p.ceiling && (!best || p.rank < best->rank))
        best = &p;
    if (!best)
      return rest;
    auto more = std::min(rest, best->ceiling - best->bps);
    best->bps += more;
    rest -= more;
  }
  return 0;
}

std::uint32_t fill_in_proportion(std::span<portion> portions, std::uint32_t rest) {
  std::uint64_t room = 0;
  for (const auto& p : portions)
    room += p.ceiling - p.bps;
  if (room == 0 || rest == 0)
    return rest;
  auto wanted = std::min<std::uint64_t>(rest, room);
  auto left = wanted;
  for (auto& p : portions) {
    auto more = wanted * (p.ceiling - p.bps) / room;
    p.bps += static_cast<std::uint32_t>(more);
    left -= more;
  }
  for (auto& p : portions) { // Roundings.
    auto more = std::min<std::uint64_t>(left, p.ceiling - p.bps);
    p.bps += static_cast<std::uint32_t>(more);
    left -= more;
  }
  return rest - static_cast<std::uint32_t>(wanted);
}

} // namespace

std::uint32_t divide(std::span<portion> portions, bool by_rank) {
  spread_gap(portions);
  auto rest = whole;
  for (auto& p : portions) {
    p.bps = std::min({p.floor, p.ceiling, rest});
    rest -= p.bps;
  }
  return by_rank ? fill_best_first(portions, rest) : fill_in_proportion(portions, rest);
}

std::size_t portion_at(std::span<const portion> portions, std::uint32_t point) {
  std::uint32_t upto = 0;
  for (std::size_t i = 0; i < portions.size(); ++i) {
    upto += portions[i].bps;
    if (point < upto)
      return i;
  }
  return portions.size();
}

} // namespace assay::routing
