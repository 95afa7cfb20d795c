#pragma once
// Which records are still taken when the disks have only the room left that is kept for them
// (docs/decisions/0022): those that take something back, end it, or mend the group.
//
// There are few of each: as many as there are open moves, keys, members and so on, because what
// would make more of them waits for room.

#include "src/ledger/record.hpp"

namespace assay::ledger {

/// By its kind and what the record itself says, never by the tables. Pure.
bool is_essential(const payload& what);

} // namespace assay::ledger
