#pragma once
// Small pieces of text that several explanations share.

#include <cstdint>
#include <string>

namespace assay::routing {

/// `12345` -> `12,345`.
std::string with_thousands(std::uint64_t number);

} // namespace assay::routing
