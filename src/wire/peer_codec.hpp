#pragma once
// Turns what coordinators say into bytes and back.
//
// Bytes come from another machine: sizes, list lengths and traversal are limited before anything is
// copied, and what comes out has passed src/wire/peer_checks.hpp. Nothing throws out of here. The
// largest entry fits one frame, so no message travels in pieces: `participant_settings` keeps an
// append at 1 MiB or one entry, and `encode` refuses what a frame does not hold.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/wire/peer_messages.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace assay::wire {

/// One Cap'n Proto message, unpacked; refused when it is above limits::peer_frame_bytes or would be
/// refused by its reader.
result<std::string, problem> encode(const peers::message& what);

/// `refused` is of a kind that only a newer schema knows, and harmless; anything else is damage or
/// a peer that errs, and `where` names the field.
result<peers::message, problem> decode_peer_message(std::span<const std::byte> bytes);

} // namespace assay::wire
