#pragma once
// How the log's values lie on the disk, in the environment and in the journal alike: numbers in the
// byte order of the machine, an entry as term, kind and bytes.

#include "src/consensus/participant.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::store {

inline constexpr std::size_t entry_head = 9; ///< Bytes of an entry's value before its own.

void put_number(std::string& out, std::uint64_t number);
/// 0 when there are not enough bytes, and then none is taken.
std::uint64_t take_number(std::string_view& from);

void put_entry(std::string& out, const consensus::entry& e);
/// Unless it is wanted whole, only a change keeps its bytes.
consensus::entry to_entry(std::string_view value, bool is_whole);

std::string to_value(std::uint64_t number);
std::string to_value(const consensus::entry& e);
std::string to_value(const consensus::hard_state& hard);
std::string to_value(const consensus::snapshot_mark& mark);
std::optional<consensus::snapshot_mark> to_mark(std::string_view value);

} // namespace assay::store
