#include "src/store/ledger_audit.hpp"

#include "src/ledger/chain.hpp"
#include "src/ledger/schema.hpp"
#include "src/store/ledger_machine.hpp"
#include "src/wire/row_codec.hpp"

namespace assay::store {

std::string ledger_audit::take(std::string_view key, std::string_view value) {
  auto row = wire::decode_row(value);
  if (!row)
    return "a row cannot be read: " + row.error().text;
  if (row_key(ledger::table_of(*row), ledger::key_of(*row)) != key)
    return "a row of table " + std::string{ledger::name(ledger::table_of(*row))}
           + " stands under another key";
  if (const auto* head = std::get_if<ledger::head_row>(&*row)) {
    head_ = *head;
    if (auto old = ledger::too_old(*head, knows_); !old.empty())
      return old;
    if (head_->cluster)
      chain_ = ledger::genesis(*head_->cluster);
  }
  if (const auto* record = std::get_if<ledger::record_row>(&*row))
    return take_record(*record);
  return {};
}

std::string ledger_audit::take_record(const ledger::record_row& record) {
  const auto& stamp = record.stamp;
  const auto what = "record " + std::to_string(stamp.seq);
  if (stamp.seq != seq_ + 1)
    return what + " follows record " + std::to_string(seq_);
  if (ledger::record_hash(record.canonical) != stamp.record)
    return what + " is not the one that was hashed";
  if (
    stamp.previous_chain != chain_
    || ledger::chain_hash(chain_, stamp.seq, stamp.record, stamp.stamped_at) != stamp.chain
  )
    return what + " does not continue the chain";
  seq_ = stamp.seq;
  chain_ = stamp.chain;
  return {};
}

std::string ledger_audit::finish(std::uint64_t index) {
  if (!head_)
    return "the state has no head";
  if (head_->applied_index != index)
    return "the head is of entry " + std::to_string(head_->applied_index) + ", not of "
           + std::to_string(index);
  if (head_->seq != seq_ || (head_->cluster && head_->chain != chain_))
    return "the records end at " + std::to_string(seq_) + ", the head is at "
           + std::to_string(head_->seq) + (head_->seq == seq_ ? " with another chain" : "");
  return {};
}

} // namespace assay::store
