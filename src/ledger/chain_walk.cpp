#include "src/ledger/chain_walk.hpp"

#include "src/ledger/chain.hpp"

namespace assay::ledger {

chain_walk::chain_walk(const uuid& cluster) : chain_{genesis(cluster)} {}

std::optional<finding> chain_walk::take(const record_row& row) {
  const auto& s = row.stamp;
  auto wrong = [this](const char* what) {
    return finding{next(), "record " + std::to_string(next()) + " " + what};
  };
  if (s.seq != next())
    return wrong("is missing");
  if (record_hash(row.canonical) != s.record)
    return wrong("holds other bytes than were written");
  if (s.previous_chain != chain_)
    return wrong("does not follow the one before");
  if (chain_hash(chain_, s.seq, s.record, s.stamped_at) != s.chain)
    return wrong("has a stamp that is not part of the chain");
  seq_ = s.seq;
  chain_ = s.chain;
  return {};
}

} // namespace assay::ledger
