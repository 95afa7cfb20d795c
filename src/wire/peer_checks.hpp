#pragma once
// What must be true of a coordinator's message before anybody sees it.
//
// The packaged consensus library has its assertions compiled out, so each field that could mislead
// it is checked twice: here for what the message alone shows, and in src/consensus/guards.hpp
// against the member's situation when it arrives (whose turn it is, terms that leap, matches that
// nobody has). Pure: each function names the field and says what is wrong with it.

#include "src/base/problem.hpp"
#include "src/wire/peer_messages.hpp"

#include <optional>

namespace assay::peers {

/// Nothing when the message may go on.
std::optional<problem> refuse(const message& what);

/// Whether the message is from whom the key says and for us.
std::optional<problem> refuse_route(const message& what, std::uint64_t key_of, std::uint64_t self);

} // namespace assay::peers
