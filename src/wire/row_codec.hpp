#pragma once
// Rows of the ledger's tables <-> the bytes that LMDB holds. The key is not in the value: it is
// made from the row (ledger::key_of), because rows carry all of their key.

#include "src/wire/record_codec.hpp"

namespace assay::wire {

std::string encode_row(const ledger::row& r);
result<ledger::row, malformed> decode_row(std::string_view bytes);

} // namespace assay::wire
