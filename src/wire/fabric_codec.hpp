#pragma once
// Turns fabric messages into bytes and back.
//
// Bytes come from another machine: sizes, list lengths and traversal are limited before anything is
// copied, an enum value or message kind of a newer peer is told apart from damage, and nothing
// throws out of here.

#include "src/base/result.hpp"
#include "src/wire/fabric_messages.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace assay::wire {

enum class decode_fault : std::uint8_t {
  too_large,    ///< More than limits::message_bytes; not looked at.
  malformed,    ///< Not a message of this schema, or outside its limits.
  unknown_kind, ///< A member or enum value that only a newer schema knows. Harmless: ignore.
};

/// One Cap'n Proto message, unpacked. The caller compares its size with
/// limits::message_bytes.
std::string encode(const fabric::agent_message& message);
std::string encode(const fabric::coordinator_message& message);

result<fabric::agent_message, decode_fault> decode_agent_message(std::span<const std::byte> bytes);
result<fabric::coordinator_message, decode_fault>
decode_coordinator_message(std::span<const std::byte> bytes);

} // namespace assay::wire
