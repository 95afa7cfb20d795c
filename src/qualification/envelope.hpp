#pragma once
// The region of request shapes that evidence covers. The contract stage gives the first one: the
// box between nothing and what was asked for and answered at the limits.

#include "src/contract/shape.hpp"

#include <cstdint>

namespace assay::qualification {

/// A shape is inside when every one of its sizes is. Zero tokens: nothing of that was shown.
struct envelope {
  contract::task task = contract::task::chat;
  std::uint32_t input_tokens = 0;  ///< A prompt of so many tokens was answered.
  std::uint32_t output_tokens = 0; ///< So many tokens may be asked for.
  bool unary = false;
  bool streaming = false;

  friend bool operator==(const envelope&, const envelope&) = default;
};

/// Why a shape is not surely inside.
enum class outside : std::uint8_t { no, wrong_task, no_streaming, no_unary, input, output };

/// A shape whose input may be at or under the edge (`input.least` is) is inside: nothing is refused
/// on an estimate. A shape that names no output limit is inside: the engine's launch limits it.
outside where(const envelope& e, const contract::shape& s);

} // namespace assay::qualification
