#pragma once
// How an endpoint's slots are split over ingresses.

#include <cstdint>
#include <vector>

namespace assay::pool {

/// Gives each what it uses (fairly cut when that is more than there is), and spreads the rest
/// evenly, starting at `first` so that the odd credits of many endpoints do not all go to one
/// ingress. The sum is `slots` unless there is nobody.
std::vector<std::uint32_t>
split_credits(std::uint32_t slots, const std::vector<std::uint32_t>& in_use, std::size_t first);

} // namespace assay::pool
