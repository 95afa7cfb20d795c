#pragma once
// The bytes of a membership entry, in the library's format: version 1, count, then id, address and
// role of each.
//
// The library trusts these bytes (it reads past their end when the count lies), so both directions
// are ours.

#include "src/base/result.hpp"
#include "src/consensus/values.hpp"

#include <string_view>

namespace assay::consensus {

inline constexpr std::size_t members_max = 64;

std::string encode(const configuration& members);

/// The error says what is wrong with the bytes.
result<configuration, std::string_view> decode_configuration(std::string_view bytes);

} // namespace assay::consensus
