#include "tests/support/forged_export.hpp"

#include "src/wire/export_codec.hpp"

#include <algorithm>

namespace assay::ledger::test {

forger::forger(const uuid& cluster)
  : key_{std::make_shared<signing_key>(signing_key::seed{13})}, cluster_{cluster}, chain_{
                                                                                     genesis(cluster
                                                                                     )} {}

void forger::found() {
  auto alone = membership{{{1, "one", "127.0.0.1:1", to_text(key_->public_part()), true}}};
  put({stamped_at_, make_record(alone, {"rogue", authentication::process})});
}

std::uint64_t forger::put(const told& what) {
  return put_bytes(what.at, wire::encode(what.record));
}

std::uint64_t forger::put_bytes(wall_ms at, std::string canonical) {
  stamped_at_ = std::max(stamped_at_, at);
  auto hash = record_hash(canonical);
  chain_ = chain_hash(chain_, ++seq_, hash, stamped_at_);
  batch_row b{++index_, 1, stamped_at_, "one", {hash}, {seq_}, {}};
  sign(b);
  batches_.push_back({std::move(b), {std::move(canonical)}});
  return seq_;
}

void forger::sign(batch_row& b) const {
  auto made = key_->sign(batch_message(cluster_, b.term, b.stamped_at, b.records));
  b.signature = {made.begin(), made.end()};
}

std::string forger::exported() const {
  auto text = wire::encode_frame(export_header{export_format, cluster_, genesis(cluster_)});
  for (const auto& b : batches_)
    text += wire::encode_frame(b);
  auto made = key_->sign(head_message(cluster_, seq_, chain_));
  return text + wire::encode_frame(export_head{seq_, chain_, "one", {made.begin(), made.end()}});
}

} // namespace assay::ledger::test
