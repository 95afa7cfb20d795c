// Records alone: which fields and kinds this program knows. tests/newer links another one in its
// place, of a program that knows one more of each.

#include "src/wire/record_codec.hpp"

#include "schema/ledger.capnp.h"
#include "src/base/limits.hpp"
#include "src/ledger/schema.hpp"
#include "src/wire/canonical.hpp"

namespace assay::wire {

namespace {

result<std::uint16_t, malformed> version_of(schema::Record::Reader from) {
  return from.getSchemaVersion();
}

} // namespace

bool is_known_kind(std::size_t kind) {
  return kind < std::variant_size_v<ledger::payload>;
}

std::string encode(const ledger::record& r) {
  return walk::encode_as<schema::Record>(r);
}

result<ledger::record, malformed> decode_record(std::string_view canonical) {
  auto r = walk::decode_as<schema::Record, ledger::record>(canonical, limits::proposal_bytes);
  if (r)
    return r;
  auto needs = walk::read_message<schema::Record>(canonical, limits::proposal_bytes, version_of);
  if (!needs || *needs <= ledger::known_schema())
    return r;
  return unexpected{malformed{
    "the record needs schema version " + std::to_string(*needs) + "; this program knows 1 to "
    + std::to_string(ledger::known_schema()) + " (" + r.error().text
    + "): use a newer version of Assay"}};
}

} // namespace assay::wire
