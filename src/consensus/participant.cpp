#include "src/consensus/participant.hpp"

#include "src/base/check.hpp"
#include "src/base/overloaded.hpp"
#include "src/consensus/configuration.hpp"

#include <algorithm>

namespace assay::consensus {

participant::participant(const participant_settings& how, const stored_log& stored)
  : how_{how}, stored_{stored} {}

result<std::unique_ptr<participant>, problem>
participant::make(const participant_settings& how, const stored_log& stored) {
  auto inner = core::make(how.core);
  if (!inner)
    return unexpected{inner.error()};
  std::unique_ptr<participant> out{new participant{how, stored}};
  out->core_ = *std::move(inner);
  return out;
}

std::optional<refusal>
participant::start(log_contents disk, std::uint64_t applied, std::uint64_t now_ms) {
  if (disk.snapshot && applied < disk.snapshot->index)
    return refusal::invalid; // The log has forgotten what the state does not hold.
  first_ = disk.first_index;
  snapshot_ = disk.snapshot;
  if (snapshot_)
    members_[snapshot_->configuration_index] = snapshot_->configuration;
  for (std::size_t i = 0; i < disk.entries.size(); ++i) {
    const auto& e = disk.entries[i];
    terms_.push_back(e.term);
    if (e.kind == entry_kind::change)
      if (auto decoded = decode_configuration(e.bytes))
        members_[first_ + i] = *decoded;
  }
  durable_ = first_ + terms_.size() - 1;
  tail_first_ = durable_ + 1;
  handed_ = state_durable_ = applied;
  // Nobody elects the sole voter, so the library would go on in the term of the run before; but a
  // term is what tells this run's orders from that one's. Raising it is always allowed before the
  // first message. The vote of that term is its own: nobody else may lead in it.
  if (is_sole_voter()) {
    disk.hard = {disk.hard.term + 1, how_.core.id};
    unsaved_.hard = disk.hard;
    ++hard_wanted_;
  }
  return step(started{disk.hard, disk.snapshot, disk.first_index, std::move(disk.entries)}, now_ms);
}

// -- what happens -------------------------------------------------------------------------------

std::optional<refusal> participant::receive(message what, std::uint64_t now_ms) {
  auto refused = step(received{std::move(what)}, now_ms);
  if (refused && ended_.empty())
    broke("consensus stopped: a message contradicts what was committed here");
  return refused;
}

std::optional<refusal> participant::tick(std::uint64_t now_ms) {
  now_ms_ = std::max(now_ms_, now_ms);
  std::optional<refusal> refused;
  if (now_ms >= core_->timeout_ms())
    refused = step(timed_out{}, now_ms);
  else
    advance(now_ms);
  if (refused && ended_.empty())
    broke("consensus stopped: the library failed at a timeout");
  return refused;
}

bool participant::is_sole_voter() const {
  if (members_.empty())
    return false;
  const auto& newest = members_.rbegin()->second;
  const auto* self = find_member(newest, how_.core.id);
  return self != nullptr && self->role == member_role::voter && voters_of(newest) == 1;
}

std::uint64_t participant::wake_up_ms() const {
  const auto due = core_->timeout_ms();
  if (!handover_ && !promotion_)
    return due;
  return std::min(due, now_ms_ + timeout_pace_ms);
}

std::optional<refusal> participant::step(event what, std::uint64_t now_ms) {
  if (!ended_.empty())
    return refusal::stopped;
  now_ms_ = std::max(now_ms_, now_ms);
  auto done = core_->step(std::move(what), now_ms);
  if (!done)
    return done.error();
  absorb(*std::move(done), now_ms);
  advance(now_ms);
  return {};
}

void participant::absorb(updates what, std::uint64_t now_ms) {
  if (what.hard) {
    unsaved_.hard = what.hard;
    ++hard_wanted_;
  }
  for (auto& a : what.appends)
    remember(std::move(a));
  if (what.install)
    begin_fetch(*std::move(what.install));
  for (auto& m : what.messages)
    hold(std::move(m));
  if (what.has_role_changed)
    role_changed(now_ms);
}

void participant::role_changed(std::uint64_t now_ms) {
  handover_.reset();
  promotion_.reset();
  if (!core_->is_leader()) {
    for (const auto& [index, term] : std::exchange(tickets_, {}))
      lost_.push_back(index);
    return;
  }
  // An entry of our own term settles those of older ones, and with them who is a member. The
  // library brings one only when something is uncommitted.
  if (terms_.empty() || terms_.back() != core_->term())
    (void)submit({{0, entry_kind::barrier, std::string(8, '\0')}}, now_ms); // A leader may.
  first_of_term_ = core_->last_index();
}

// -- proposing ----------------------------------------------------------------------------------

std::optional<refusal> participant::refusal_now() const {
  if (!ended_.empty())
    return refusal::stopped;
  if (!core_->is_leader() || handover_)
    return refusal::not_leader;
  if (is_full_)
    return refusal::disk_full;
  return {};
}

result<std::uint64_t, refusal> participant::propose(std::vector<entry> what, std::uint64_t now_ms) {
  if (auto refused = refusal_now())
    return unexpected{*refused};
  return submit(std::move(what), now_ms);
}

result<std::uint64_t, refusal> participant::barrier(std::uint64_t now_ms) {
  return propose({{0, entry_kind::barrier, std::string(8, '\0')}}, now_ms);
}

result<std::uint64_t, refusal> participant::submit(std::vector<entry> what, std::uint64_t now_ms) {
  const auto last = core_->last_index() + what.size();
  const auto term = core_->term();
  if (auto refused = step(submitted{std::move(what)}, now_ms))
    return unexpected{*refused};
  tickets_[last] = term;
  return last;
}

// -- members ------------------------------------------------------------------------------------

std::optional<refusal> participant::change(const membership_change& how, std::uint64_t now_ms) {
  if (auto refused = refusal_now())
    return refused;
  if (promotion_)
    return refusal::change_pending;
  auto after = changed(core_->members(), how);
  const auto* gone = std::get_if<remove_member>(&how);
  if (!after || (gone != nullptr && gone->id == how_.core.id))
    return refusal::malformed;
  const auto* raised = std::get_if<promote>(&how);
  if (raised == nullptr)
    return submit_change(*after, now_ms);
  if (auto refused = step(catch_up_wanted{raised->id}, now_ms))
    return refused;
  promotion_problem_ = {};
  promotion_ = raised->id;
  return {};
}

/// Nothing about members is decided before an entry of our own term is committed: two leaders could
/// otherwise each change an older group, and their majorities need not meet.
std::optional<refusal>
participant::submit_change(const configuration& members, std::uint64_t now_ms) {
  if (auto refused = refusal_now())
    return refused;
  if (!is_settled(members))
    return refusal::change_pending;
  auto done = submit({{0, entry_kind::change, encode(members)}}, now_ms);
  if (!done)
    return done.error();
  return {};
}

bool participant::is_settled(const configuration& next) const {
  if (term_at(core_->commit_index()) != core_->term())
    return false;
  const auto raised = newcomer();
  return raised == 0 || find_member(next, raised) == nullptr;
}

/// The member that has its vote from the newest change and has not stored it yet; 0: nobody. Until
/// it knows that it is a voter it refuses its vote, so it counts as one that is lost.
std::uint64_t participant::newcomer() const {
  if (!how_.core.guards.awaits_promoted || members_.size() < 2)
    return 0;
  const auto newest = std::prev(members_.end());
  const auto promoted = promoted_between(std::prev(newest)->second, newest->second);
  if (promoted == 0 || promoted == how_.core.id)
    return 0;
  return core_->match_index(promoted).value_or(0) >= newest->first ? 0 : promoted;
}

bool participant::is_membership_settled() const {
  const auto newest = members_.empty() ? 0 : members_.rbegin()->first;
  return newest <= core_->commit_index() && newcomer() == 0;
}

void participant::advance(std::uint64_t now_ms) {
  if (handover_)
    advance_handover(now_ms);
  if (promotion_)
    advance_promotion(now_ms);
}

void participant::advance_promotion(std::uint64_t now_ms) {
  const auto id = *promotion_;
  const auto state = core_->catch_up(id);
  if (state == catch_up_state::running)
    return;
  promotion_.reset();
  if (state != catch_up_state::finished) {
    promotion_problem_ = "the new member did not catch up with the log";
    return;
  }
  auto after = changed(core_->members(), promote{id});
  auto refused = after ? submit_change(*after, now_ms) : refusal::malformed;
  if (refused == refusal::change_pending || refused == refusal::disk_full)
    promotion_ = id;
  else if (refused)
    promotion_problem_ = "the group changed while the new member caught up";
}

// -- handing over -------------------------------------------------------------------------------

std::optional<refusal> participant::transfer(std::uint64_t to, std::uint64_t now_ms) {
  auto refused = refusal_now();
  if (refused && refused != refusal::disk_full) // With a full disk it is the best there is to do.
    return refused;
  if (to == 0)
    to = most_level_voter();
  const auto* who = find_member(core_->members(), to);
  if (who == nullptr || to == how_.core.id || who->role != member_role::voter)
    return refusal::invalid;
  handover_ = handover{to, now_ms + how_.core.election_timeout_ms, false};
  advance(now_ms);
  return {};
}

std::uint64_t participant::most_level_voter() const {
  std::uint64_t best = 0;
  std::uint64_t reached = 0;
  for (const auto& m : core_->members()) {
    if (m.role != member_role::voter || m.id == how_.core.id)
      continue;
    const auto match = core_->match_index(m.id).value_or(0);
    if (best == 0 || match > reached) {
      best = m.id;
      reached = match;
    }
  }
  return best;
}

/// Proposals are refused meanwhile, so the successor's log becomes level; who is behind ignores the
/// request, and it is not repeated.
void participant::advance_handover(std::uint64_t now_ms) {
  if (handover_->has_begun) {
    if (core_->transferee() == 0)
      handover_.reset();
    return;
  }
  if (now_ms >= handover_->until_ms)
    return handover_.reset();
  const auto match = core_->match_index(handover_->to).value_or(0);
  if (match != core_->last_index() && how_.core.guards.transfers_level)
    return;
  handover_->has_begun = true;
  if (step(transfer_wanted{handover_->to}, now_ms))
    handover_.reset();
}

} // namespace assay::consensus
