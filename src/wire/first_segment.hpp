#pragma once
// How much room a message is built in. The library's own first segment is 8 KiB of zeros, which
// most messages fill with a few hundred bytes, and large ones outgrow again and again.

#include <capnp/common.h>

#include <cstddef>

namespace assay::wire {

/// Words for a first segment that holds `content_bytes` of texts and bytes in up to `parts` structs
/// or lists. Readers take 16 segments at most, so who cannot say what a message holds leaves the
/// library its own size.
inline unsigned first_segment_words(std::size_t content_bytes, std::size_t parts) {
  constexpr std::size_t root_words = 32, part_words = 8;
  return static_cast<unsigned>(
    root_words + part_words * parts + content_bytes / sizeof(capnp::word)
  );
}

} // namespace assay::wire
