#include "src/wire/stamp_codec.hpp"

#include "schema/ledger.capnp.h"
#include "src/base/limits.hpp"
#include "src/wire/canonical.hpp"

namespace assay::wire {

result<wall_ms, malformed> stamped_at_in(std::string_view record_row) {
  auto read = [](schema::Row::Reader row) -> result<wall_ms, malformed> {
    if (!row.isRecord())
      return unexpected{malformed{"the row is not one of a record"}};
    return wall_ms{row.getRecord().getStamp().getStampedAtMs()};
  };
  return walk::read_message<schema::Row>(record_row, limits::row_bytes, read);
}

} // namespace assay::wire
