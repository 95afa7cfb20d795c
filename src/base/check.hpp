#pragma once
// A check is for what can only be our own mistake. It stays on in release and stops the process
// with the place; what the world can cause is a value (`result`), never a check.

#include <source_location>
#include <string_view>

namespace assay {

[[noreturn]] void check_failed(std::string_view what, std::source_location where);

inline void check(
  bool holds, std::string_view what, std::source_location where = std::source_location::current()
) {
  if (!holds) [[unlikely]]
    check_failed(what, where);
}

} // namespace assay
