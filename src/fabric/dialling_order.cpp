#include "src/fabric/dialling_order.hpp"

#include "src/base/check.hpp"
#include "src/base/peer_limits.hpp"

#include <algorithm>
#include <utility>

namespace assay::fabric {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t round_most = limits::peers;

// With the pauses between them about as long as an election takes.
constexpr int rounds_of_suspicion = 4;

bool holds(const std::vector<coordinator_at>& list, const coordinator_at& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

/// From the one after `last` on, and `last` at the end.
std::vector<coordinator_at> after(const coordinator_at& last, std::vector<coordinator_at> list) {
  auto at = std::find(list.begin(), list.end(), last);
  if (at != list.end())
    std::rotate(list.begin(), std::next(at), list.end());
  return list;
}

} // namespace

dialling_order::dialling_order(
  std::vector<coordinator_at> configured, std::vector<coordinator_at> learned, redial pauses
)
  : configured_{std::move(configured)}, learned_{std::move(learned)}, pauses_{pauses} {
  check(!configured_.empty(), "an agent has a coordinator to dial");
  whom_ = learned_.empty() ? configured_.front() : learned_.front();
}

bool dialling_order::learn(std::vector<coordinator_at> said) {
  if (said.empty() || said == learned_)
    return false;
  learned_ = std::move(said);
  return true;
}

void dialling_order::welcomed() {
  is_up_ = true;
  pauses_.succeeded();
  tried_.clear();
  is_answered_ = false;
  is_refused_ = true;
  suspect_.reset();
}

milliseconds dialling_order::ended(
  lost_reason reason, const std::optional<coordinator_at>& leader, std::uint32_t chance
) {
  if (std::exchange(is_up_, false) && reason != lost_reason::not_leader)
    return session_ended(reason, chance);
  tried_.push_back(whom_);
  is_answered_ = is_answered_ || reason == lost_reason::not_leader;
  is_refused_ = is_refused_ && reason == lost_reason::refused;
  // Two agents with one key would only take turns faster.
  if (reason == lost_reason::superseded || tried_.size() >= round_most)
    return round_ended(reason, chance);
  auto next = leader && may_follow(*leader) ? leader : untried();
  if (!next)
    return round_ended(reason, chance);
  whom_ = *next;
  return milliseconds{0};
}

milliseconds dialling_order::session_ended(lost_reason reason, std::uint32_t chance) {
  bool is_cut = reason == lost_reason::disconnected || reason == lost_reason::silent;
  // One that closed the session in order may only have lost count of us: it is asked first.
  if (is_cut) {
    suspect_ = whom_;
    suspect_rounds_ = rounds_of_suspicion;
    whom_ = *untried();
  }
  return pauses_.after(reason, chance);
}

milliseconds dialling_order::round_ended(lost_reason reason, std::uint32_t chance) {
  if (is_answered_ && reason != lost_reason::superseded)
    reason = lost_reason::not_leader;
  else if (reason == lost_reason::refused && !is_refused_)
    reason =
      lost_reason::unreachable; // One of many that does not know us yet is no reason to wait.
  suspect_rounds_ = std::max(0, suspect_rounds_ - 1);
  tried_.clear();
  is_answered_ = false;
  is_refused_ = true;
  whom_ = *untried();
  return pauses_.after(reason, chance);
}

bool dialling_order::is_tried(const coordinator_at& one) const {
  return holds(tried_, one);
}

bool dialling_order::may_follow(const coordinator_at& leader) const {
  return !is_tried(leader) && !(is_suspect(leader) && suspect_rounds_ > 0);
}

bool dialling_order::is_suspect(const coordinator_at& one) const {
  return suspect_ == one;
}

/// In a round that has just begun there always is one.
std::optional<coordinator_at> dialling_order::untried() const {
  for (auto& one : after(whom_, learned_))
    if (!is_tried(one) && !is_suspect(one))
      return one;
  if (is_answered_)
    return std::nullopt;
  for (auto& one : learned_)
    if (!is_tried(one))
      return one;
  for (auto& one : after(whom_, configured_))
    if (!is_tried(one))
      return one;
  return std::nullopt;
}

} // namespace assay::fabric
