#pragma once
// Ledger records, state entries and batches <-> canonical Cap'n Proto bytes (schema/ledger.capnp).
//
// One value has exactly one encoding: decoding refuses bytes that encoding would not have made, so
// that a record's hash is the record's. Nothing here throws; sizes are checked before parsing.

#include "src/base/result.hpp"
#include "src/ledger/apply.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace assay::wire {

/// Why bytes are not what they should be, in one sentence.
struct malformed {
  std::string text;
};

/// Fields that only a newer version knows are left out of the value; `canonical` keeps them, and so
/// does whoever passes it on.
std::string encode(const ledger::record& r);
std::string encode(const ledger::state_entry& s);
result<ledger::record, malformed> decode_record(std::string_view canonical);
result<ledger::state_entry, malformed> decode_state(std::string_view canonical);

/// Whether records of this program may have the schema's kind of that number.
bool is_known_kind(std::size_t kind);

/// An entry ready to be proposed.
ledger::entry make_entry(const ledger::record& r);
ledger::entry make_entry(const ledger::state_entry& s);

/// What a proposer handed over: checked here, once, by the leader, before it enters a batch.
/// Bytes carry their own tag (record or state), so that one function reads both.
std::string encode_proposal(const ledger::record& r);
std::string encode_proposal(const ledger::state_entry& s);
result<ledger::entry, malformed> decode_proposal(std::string_view bytes);

/// The content of a Raft entry. A batch whose frame is intact but that holds an undecodable entry
/// decodes, with that entry empty: apply refuses it, the same on every member.
std::string encode(const ledger::batch& b);
result<ledger::batch, malformed> decode_batch(std::string_view bytes);

/// What a leader looks at before a proposal enters a batch; cheaper than decoding it.
struct proposal_head {
  std::uint16_t schema_version = 0; ///< 0: it is no record.
  bool is_known_kind = true;
  std::uint16_t raises_to = 0; ///< The version that a `cluster_version` agrees on.
};
result<proposal_head, malformed> head_of_proposal(std::string_view bytes);

/// For ledger::auditor.
result<ledger::record, std::string> read_record(std::string_view canonical);

} // namespace assay::wire
