#include "src/routing/trace.hpp"

#include "src/base/check.hpp"

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

void decision_ring::amend(std::uint64_t position, const decision_trace& trace) {
  if (position > 0 && position <= pushed_ && pushed_ - position < capacity_)
    entries_[(position - 1) % capacity_].trace = trace;
}

} // namespace assay::routing
