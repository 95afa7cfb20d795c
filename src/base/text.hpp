#pragma once
// Text that came from outside: whether it is text at all, and how much of it is told back.

#include <string>
#include <string_view>

namespace assay {

/// Whether every byte belongs to a well-formed UTF-8 sequence (RFC 3629).
bool is_utf8(std::string_view bytes);

/// What somebody sent may stand in an error or a log line, but not whole, whatever its length: each
/// line of more than limits::told_line_bytes loses its middle, which is replaced by how much that
/// was, and what is beyond limits::told_bytes is left out. Characters stay whole.
std::string shortened(std::string_view text);

} // namespace assay
