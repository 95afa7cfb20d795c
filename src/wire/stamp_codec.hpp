#pragma once
// One number of a record's row, read where it stands: a search by time looks at twenty rows and
// wants nothing else of them. The row as a whole: src/wire/row_codec.hpp.

#include "src/base/clock.hpp"
#include "src/wire/record_codec.hpp"

namespace assay::wire {

/// When the record was stamped. That the rest of the row is what it should be is not asked.
result<wall_ms, malformed> stamped_at_in(std::string_view record_row);

} // namespace assay::wire
