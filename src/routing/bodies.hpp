#pragma once
// What can be said of a body before it is read: it may be longer than any model takes that its
// caller may use.

#include "src/routing/gates.hpp"

#include <cstdint>

namespace assay::routing {

/// Bytes; 0: some model has no limit of its own, or the caller may use none that is known.
std::uint64_t longest_body(const routing_snapshot& s, const caller& c);

} // namespace assay::routing
