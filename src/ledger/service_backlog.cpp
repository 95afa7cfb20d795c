#include "src/ledger/service_backlog.hpp"

#include "src/base/peer_limits.hpp"

#include <algorithm>

namespace assay::ledger {

void service_backlog::add(std::vector<serving_summary> hours) {
  for (auto& one : hours) {
    if (waiting_.size() >= limits::service_untold) {
      waiting_.pop_front();
      ++left_out_;
    }
    auto record = id_of(one);
    waiting_.push_back({std::move(one), record, {}, 0});
  }
}

std::size_t service_backlog::under_way() const {
  return std::min(waiting_.size(), limits::service_telling);
}

std::vector<serving_summary> service_backlog::due(steady_time now) {
  std::vector<serving_summary> said;
  for (std::size_t i = 0; i < under_way(); ++i) {
    auto& one = waiting_[i];
    if (one.next && *one.next > now)
      continue;
    one.next = now + limits::service_tell_again;
    said.push_back(one.what);
  }
  return said;
}

/// Answers come for what is under way alone; one that made room meanwhile is not found.
std::deque<service_backlog::waiting>::iterator service_backlog::find(const uuid& record) {
  auto last = waiting_.begin() + static_cast<std::ptrdiff_t>(under_way());
  auto at =
    std::find_if(waiting_.begin(), last, [&](const auto& one) { return one.record == record; });
  return at == last ? waiting_.end() : at;
}

void service_backlog::settle(const uuid& record) {
  if (auto at = find(record); at != waiting_.end())
    waiting_.erase(at);
}

bool service_backlog::refuse(const uuid& record, steady_time now) {
  auto at = find(record);
  if (at == waiting_.end())
    return false;
  at->next = now + limits::service_tell_again;
  if (++at->refusals < limits::service_refusals)
    return false;
  waiting_.erase(at);
  ++left_out_;
  return true;
}

void service_backlog::say_all_again() {
  for (std::size_t i = 0; i < under_way(); ++i)
    waiting_[i].next.reset();
}

std::string not_its_own(const head_row& head, std::uint64_t node, const serving_summary& s) {
  auto at = std::ranges::find(head.members, node, &member::id);
  if (at == head.members.end())
    return "coordinator " + std::to_string(node) + " is no member";
  if (at->name != s.ingress)
    return "the ingress of \"" + at->name + "\" does not tell what \"" + s.ingress + "\" served";
  return {};
}

} // namespace assay::ledger
