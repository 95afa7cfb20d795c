#include "src/pool/continued_view.hpp"

#include "src/base/limits.hpp"

#include <algorithm>

namespace assay::pool {

bool continued_view::learn(std::shared_ptr<const pool_view> next, steady_time now) {
  if (newest_ && next->epoch < newest_->epoch)
    return false;
  if (newest_ && next->epoch > newest_->epoch)
    carry_on(now);
  newest_ = std::move(next);
  std::erase_if(carried_, [this](const replica_view& one) {
    return std::ranges::any_of(newest_->replicas, [&](const replica_view& listed) {
      return listed.generation == one.generation;
    });
  });
  show();
  return true;
}

bool continued_view::pass(steady_time now) {
  if (carried_.empty() || now < carried_until_)
    return false;
  carried_.clear();
  show();
  return true;
}

void continued_view::carry_on(steady_time now) {
  carried_ = shown_->replicas;
  std::erase_if(carried_, [](const replica_view& one) { return !one.takes_traffic; });
  carried_until_ = now + limits::unwatched;
}

void continued_view::show() {
  if (carried_.empty()) {
    shown_ = newest_;
    return;
  }
  auto both = *newest_;
  both.replicas.insert(both.replicas.end(), carried_.begin(), carried_.end());
  std::ranges::sort(both.replicas, {}, &replica_view::generation);
  shown_ = std::make_shared<const pool_view>(std::move(both));
}

} // namespace assay::pool
