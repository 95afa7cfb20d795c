#include "src/store/signing_keys.hpp"

namespace assay::store {

signing_keys::signing_keys(const ledger::signing_key::seed& first)
  : first_{std::make_shared<const ledger::signing_key>(first)} {
  all_.emplace(ledger::to_text(first_->public_part()), first_);
}

void signing_keys::add(const ledger::signing_key::seed& another) {
  auto key = std::make_shared<const ledger::signing_key>(another);
  auto name = ledger::to_text(key->public_part());
  std::lock_guard hold{mutex_};
  all_.try_emplace(std::move(name), std::move(key));
}

std::shared_ptr<const ledger::signing_key> signing_keys::find(const std::string& public_half
) const {
  std::lock_guard hold{mutex_};
  auto at = all_.find(public_half);
  return at == all_.end() ? nullptr : at->second;
}

} // namespace assay::store
