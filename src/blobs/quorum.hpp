#pragma once
// When enough members have a blob on their disks, so that a record may name it: a majority of those
// who vote now. Then whoever leads next finds one among any majority that elects it.

#include "src/base/problem.hpp"

#include <cstdint>
#include <set>

namespace assay::blobs {

using node = std::uint64_t;
using nodes = std::set<node>;

/// Votes change while a blob is being kept: what counts is who votes when it is asked.
bool is_on_majority(const nodes& holders, const nodes& voters);

/// Why a record cannot name the blob now.
problem not_on_majority(const nodes& holders, const nodes& voters);

} // namespace assay::blobs
