#pragma once
// How an ingress stands to one endpoint: whether it sends there, and why not.

#include <cstdint>
#include <string_view>

namespace assay::pool {

enum class standing : std::uint8_t {
  fine,
  warming, ///< New, or back after it was out: it gets a share until it has shown what it does.
  stale,   ///< Its agent is silent: it serves, after those that are heard of.
  full,    ///< Its engine said so (429, 503): left alone until it may have room.
  failing, ///< Its breaker is open.
  probing, ///< Its breaker is half open: one request finds out.
  stalled, ///< Streams are open, and no content has come for longer than its own pace explains.
  wedged,  ///< It holds requests that it has said nothing to, for longer than its pace explains.
};
inline constexpr std::size_t standing_count = 8;

std::string_view name(standing s);

/// Nothing is sent there, as long as not too many are out.
constexpr bool is_out(standing s) {
  return s >= standing::full && s != standing::probing;
}

} // namespace assay::pool
