#include "src/wire/row_codec.hpp"

#include "schema/ledger.capnp.h"
#include "src/base/limits.hpp"
#include "src/wire/canonical.hpp"

namespace assay::wire {

std::string encode_row(const ledger::row& r) {
  return walk::encode_as<schema::Row>(r);
}

result<ledger::row, malformed> decode_row(std::string_view bytes) {
  return walk::decode_as<schema::Row, ledger::row>(bytes, limits::row_bytes);
}

} // namespace assay::wire
