#pragma once
// The keys that this member may sign with. Which of them it signs with is the ledger's word: the
// one whose public half it names.

#include "src/ledger/chain.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace assay::store {

class signing_keys {
public:
  explicit signing_keys(const ledger::signing_key::seed& first);

  void add(const ledger::signing_key::seed& another);
  /// By its public half, 64 hexadecimal digits. Null: it is none of ours.
  std::shared_ptr<const ledger::signing_key> find(const std::string& public_half) const;
  /// For what is sealed before the ledger names anybody.
  std::shared_ptr<const ledger::signing_key> first() const { return first_; }

private:
  const std::shared_ptr<const ledger::signing_key> first_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const ledger::signing_key>> all_;
};

} // namespace assay::store
