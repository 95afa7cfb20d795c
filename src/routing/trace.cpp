#include "src/routing/trace.hpp"

#include "src/base/check.hpp"

#include <algorithm>

namespace assay::routing {

std::string_view name(outcome_kind k) {
  constexpr std::array<std::string_view, 3> names{"chosen", "needs_ticket", "refused"};
  return names[static_cast<std::size_t>(k)];
}

std::string_view name(signal_class c) {
  constexpr std::array<std::string_view, 3> names{"portable", "runtime", "vendor"};
  return names[static_cast<std::size_t>(c)];
}

decision_ring::decision_ring(std::size_t capacity) : capacity_{capacity} {
  check(capacity > 0, "a decision ring holds at least one decision");
}

std::uint64_t
decision_ring::push(const decision_trace& trace, std::shared_ptr<const name_table> names) {
  auto at = pushed_++ % capacity_;
  if (at == entries_.size())
    entries_.push_back({trace, std::move(names)});
  else
    entries_[at] = {trace, std::move(names)};
  return pushed_;
}

result<decision_ring::entry, decision_ring::miss> decision_ring::find(std::uint64_t position
) const {
  if (position == 0 || position > pushed_)
    return unexpected{miss::never_made};
  if (pushed_ - position >= capacity_)
    return unexpected{miss::overwritten};
  return entries_[(position - 1) % capacity_];
}

decision_trace* decision_ring::at(std::uint64_t position) {
  auto is_held = position > 0 && position <= pushed_ && pushed_ - position < capacity_;
  return is_held ? &entries_[(position - 1) % capacity_].trace : nullptr;
}

void decision_ring::amend(std::uint64_t position, const decision_trace& trace) {
  if (auto* entry = at(position))
    *entry = trace;
}

void decision_ring::close(std::uint64_t position, const outcome& o) {
  auto* entry = at(position);
  if (!entry)
    return;
  auto in_ms = [](std::chrono::microseconds t) {
    return static_cast<std::uint32_t>(std::min<std::int64_t>(t.count() / 1'000, 0xffff'ffff));
  };
  entry->ended = o.how;
  entry->status = static_cast<std::uint16_t>(o.status);
  entry->queued_ms = in_ms(o.queued);
  entry->replica_first_ms = in_ms(o.replica.first.value_or(std::chrono::microseconds{}));
  entry->replica_total_ms = in_ms(o.replica.total);
}

} // namespace assay::routing
