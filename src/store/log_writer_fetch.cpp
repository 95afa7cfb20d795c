// The log writer's side of taking over another member's state: because the log cannot bring this
// one up to date any more, or because the state on its disk is damaged.

#include "src/base/log.hpp"
#include "src/store/log_writer.hpp"
#include "src/store/monotonic.hpp"

namespace assay::store {

void log_writer::begin_fetch(consensus::snapshot_mark mark) {
  log::info("fetching a state", {{"index", std::to_string(mark.index)}});
  const auto first_attempt = (run_ << 32) + (++fetches_ << 16);
  auto begin_audit = [this] { return machine_.begin_audit(); };
  fetch_.emplace(std::move(mark), shared_.options().server_id, first_attempt, begin_audit);
}

/// The leader's, and nobody else's: it is at least as new as what we applied. The log is whole and
/// goes on; what it brings meanwhile is applied behind the new state.
std::optional<consensus::refusal> log_writer::begin_mending() {
  const auto* leader = consensus::find_member(member_->members(), member_->leader());
  if (leader == nullptr)
    return consensus::refusal::not_leader;
  if (fetch_)
    return consensus::refusal::change_pending;
  if (auto refused = member_->begin_mending())
    return refused;
  mended_by_ = leader->id;
  auto source = *leader;
  source.role = consensus::member_role::voter; // As it leads it is one, whatever our log knows.
  begin_fetch({member_->handed_over(), 0, 0, {std::move(source)}});
  return {};
}

/// Who leads applies, and who leads no more may be behind us. The state stays as it is, for now;
/// but never while a page, which may be the last one, is on its way to the disk.
void log_writer::mend_under_its_leader() {
  if (!member_->is_mending() || is_page_under_way_)
    return;
  if (member_->is_leader() || member_->leader() != mended_by_)
    give_up_mending("the leader changed");
}

void log_writer::give_up_mending(std::string_view why) {
  log::warn("the damaged state is not mended", {{"why", std::string{why}}});
  fetch_.reset();
  member_->mended(0);
}

void log_writer::ask_for_state() {
  if (!fetch_ || is_page_under_way_ || shared_.options().peers == nullptr)
    return;
  if (!member_->ended().empty())
    return;
  if (auto what = fetch_->due(now_ms(), member_->leader()))
    shared_.options().peers->send(*std::move(what));
}

void log_writer::take_page(state_page page) {
  if (!fetch_ || is_page_under_way_)
    return;
  auto believed = fetch_->take(std::move(page), now_ms());
  if (!fetch_->problem().empty())
    log::warn("a state is not taken over", {{"why", fetch_->problem()}});
  if (!believed)
    return;
  is_page_under_way_ = true;
  const auto end = believed->end ? believed->end->index : 0;
  next_.push(*std::move(believed), [this, end, fetch = fetches_](bool is_stored) {
    inbox_.put(page_fate{fetch, is_stored, is_stored ? end : 0});
  });
}

void log_writer::page_was_stored(const page_fate& what) {
  is_page_under_way_ = false;
  if (what.adopted != 0)
    ++taken_over_;
  if (!fetch_ || what.fetch != fetches_)
    return; // Another one began meanwhile, and asks for a state that is newer.
  if (!what.is_stored && member_->is_mending()) // Applying does not wait until there is room.
    return give_up_mending("the disk has no room for a second state");
  fetch_->stored(what.is_stored, now_ms());
  if (what.adopted == 0)
    return;
  fetch_.reset();
  if (member_->is_mending())
    member_->mended(what.adopted);
  else
    member_->fetched(what.adopted);
}

} // namespace assay::store
