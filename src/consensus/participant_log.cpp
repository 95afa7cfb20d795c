// The log's side of a participant: what it holds in memory, what the disk must do, and what may
// therefore leave.

#include "src/base/check.hpp"
#include "src/consensus/configuration.hpp"
#include "src/consensus/participant.hpp"

#include <algorithm>

namespace assay::consensus {

namespace {

std::uint64_t last_of(const append& what) {
  return what.index + what.entries.size() - 1;
}

} // namespace

// -- the log in memory --------------------------------------------------------------------------

void participant::remember(append what) {
  forget_from(what.index);
  auto index = what.index;
  for (const auto& e : what.entries) {
    if (e.kind == entry_kind::change)
      if (auto decoded = decode_configuration(e.bytes))
        members_[index] = *decoded;
    terms_.push_back(e.term);
    tail_.push_back(e);
    tail_bytes_ += e.bytes.size();
    ++index;
  }
  unsaved_.appends.push_back(std::move(what));
}

/// Somebody else's log replaces ours from here on.
void participant::forget_from(std::uint64_t index) {
  while (first_ + terms_.size() > index)
    terms_.pop_back();
  while (!tail_.empty() && tail_first_ + tail_.size() > index) {
    tail_bytes_ -= tail_.back().bytes.size();
    tail_.pop_back();
  }
  tail_first_ = std::min(tail_first_, index);
  durable_ = std::min(durable_, index - 1);
  still_ours_ = std::min(still_ours_, index - 1);
  members_.erase(members_.lower_bound(index), members_.end());
  for (auto at = tickets_.lower_bound(index); at != tickets_.end(); at = tickets_.erase(at))
    lost_.push_back(at->first);
}

std::uint64_t participant::term_at(std::uint64_t index) const {
  if (index >= first_ && index < first_ + terms_.size())
    return terms_[index - first_];
  return snapshot_ && snapshot_->index == index ? snapshot_->term : 0;
}

std::optional<entry> participant::entry_at(std::uint64_t index) const {
  if (index >= tail_first_ && index < tail_first_ + tail_.size())
    return tail_[index - tail_first_];
  return stored_.at(index);
}

entry participant::pop_tail() {
  auto out = std::move(tail_.front());
  tail_.pop_front();
  ++tail_first_;
  tail_bytes_ -= out.bytes.size();
  return out;
}

void participant::trim_tail() {
  // While nothing is handed over the log has it.
  const auto kept = is_mending_ ? durable_ : std::min(handed_, durable_);
  while (!tail_.empty() && tail_bytes_ > how_.tail_bytes && tail_first_ <= kept)
    (void)pop_tail(); // The disk has it.
}

// -- messages -----------------------------------------------------------------------------------

void participant::hold(message what) {
  if (!fill(what)) // What cannot be filled is as good as lost: the library asks again.
    return;
  for (auto& part : parts_of(std::move(what))) {
    part.sequence = ++sequence_;
    held_.push_back({std::move(part), hard_wanted_});
  }
}

bool participant::fill(message& what) const {
  if (auto* probe = std::get_if<append_entries>(&what.body))
    return fill_entries(*probe);
  if (auto* install = std::get_if<install_snapshot>(&what.body)) {
    if (!snapshot_ || snapshot_->index != install->mark.index)
      return false;
    install->mark = *snapshot_;
  }
  return true;
}

bool participant::fill_entries(append_entries& probe) const {
  for (std::uint64_t i = 1; i <= probe.count; ++i) {
    auto one = entry_at(probe.previous_index + i);
    if (!one)
      return false;
    probe.entries.push_back(*std::move(one));
  }
  return true;
}

/// Several messages where one would be too large.
std::vector<message> participant::parts_of(message whole) const {
  std::vector<message> out;
  auto* probe = std::get_if<append_entries>(&whole.body);
  if (probe == nullptr || probe->entries.size() < 2) {
    out.push_back(std::move(whole));
    return out;
  }
  for (auto& part : split_at_bytes(std::move(*probe), how_.message_bytes))
    out.push_back({whole.from, whole.to, whole.run, whole.sequence, std::move(part)});
  return out;
}

void participant::release(outputs& into) {
  while (!held_.empty()) {
    if (held_.front().needs > hard_saved_ && how_.core.guards.holds_messages)
      return;
    into.messages.push_back(std::move(held_.front().what));
    held_.pop_front();
  }
}

// -- the disk -----------------------------------------------------------------------------------

outputs participant::take() {
  outputs out;
  out.lost = std::exchange(lost_, {});
  if (!ended_.empty())
    return out;
  next_write(out);
  release(out);
  hand_over(out);
  trim_tail();
  if (fetching_ && !std::exchange(is_fetch_told_, true))
    out.fetch = fetching_;
  return out;
}

void participant::next_write(outputs& into) {
  if (is_handed_out_)
    return;
  if (!writing_) {
    if (unsaved_.hard || !unsaved_.appends.empty()) {
      writing_ = std::make_shared<const log_write>(std::exchange(unsaved_, {}));
      hard_writing_ = hard_wanted_;
      still_ours_ = writing_->appends.empty() ? 0 : last_of(writing_->appends.back());
    } else if (fetching_ && state_durable_ >= fetching_->index)
      writing_ = std::make_shared<const log_write>(log_write{{}, {}, {}, fetching_});
    else if (auto next = next_compaction())
      writing_ = std::make_shared<const log_write>(log_write{{}, {}, std::move(next), {}});
  }
  into.write = writing_;
  is_handed_out_ = writing_ != nullptr;
}

void participant::wrote(std::uint64_t now_ms) {
  if (!ended_.empty())
    return;
  check(writing_ && is_handed_out_, "nothing was to be written");
  const auto held = std::exchange(writing_, {});
  const auto& done = *held;
  is_handed_out_ = is_full_ = false;
  hard_saved_ = hard_writing_;
  std::optional<refusal> failed;
  if (done.forget)
    failed = note_compaction(*done.forget, now_ms);
  else if (done.replaced_by)
    failed = note_replacement(now_ms);
  else if (!done.appends.empty() && !fetching_)
    failed = note_appends(std::min(last_of(done.appends.back()), still_ours_), now_ms);
  if (failed && ended_.empty())
    broke("consensus stopped: what was stored is not in the library's log");
}

/// What was overwritten while it was being written is not reported: the library would take it for
/// what stands there now.
std::optional<refusal> participant::note_appends(std::uint64_t reached, std::uint64_t now_ms) {
  if (reached <= durable_)
    return {};
  durable_ = reached;
  return step(persisted{reached}, now_ms);
}

void participant::disk_full() {
  check(writing_ && is_handed_out_, "nothing was to be written");
  is_full_ = true;
}

void participant::retry_write() {
  if (is_full_)
    is_handed_out_ = false;
}

void participant::broke(std::string why) {
  ended_ = std::move(why);
  held_.clear();
  for (const auto& [index, term] : std::exchange(tickets_, {}))
    lost_.push_back(index);
}

// -- applying -----------------------------------------------------------------------------------

void participant::hand_over(outputs& into) {
  if (fetching_ || is_mending_)
    return;
  const auto limit = std::min(core_->commit_index(), durable_);
  while (handed_ < limit) {
    committed_entry out;
    out.index = ++handed_;
    out.term = term_at(handed_);
    if (how_.tail_bytes == 0 && handed_ == tail_first_ && !tail_.empty())
      out.what = pop_tail();
    else if (handed_ >= tail_first_ && handed_ < tail_first_ + tail_.size())
      out.what = tail_[handed_ - tail_first_];
    if (auto at = tickets_.find(handed_); at != tickets_.end()) {
      out.ticket = at->second == out.term ? at->first : 0;
      tickets_.erase(at);
    }
    into.committed.push_back(std::move(out));
  }
}

// -- forgetting and fetching --------------------------------------------------------------------

/// Only behind a state that is durable, and never so often that it costs.
std::optional<compaction> participant::next_compaction() const {
  auto reached = std::min(handed_, durable_);
  if (how_.core.guards.compacts_behind_state)
    reached = std::min(reached, state_durable_);
  const auto before = snapshot_ ? snapshot_->index : 0;
  if (fetching_ || reached < before + 2 * how_.trailing || reached < first_ + how_.trailing)
    return {};
  auto members = members_.upper_bound(reached);
  if (members == members_.begin() || term_at(reached) == 0)
    return {};
  --members;
  return compaction{
    {reached, term_at(reached), members->first, members->second}, reached - how_.trailing + 1};
}

std::optional<refusal> participant::note_compaction(const compaction& done, std::uint64_t now_ms) {
  if (fetching_) // The log is being replaced by a newer mark.
    return {};
  snapshot_ = done.mark;
  while (first_ < done.first_kept) {
    terms_.pop_front();
    ++first_;
  }
  members_.erase(members_.begin(), members_.lower_bound(done.mark.configuration_index));
  const auto trailing = done.mark.index - done.first_kept + 1;
  return step(snapshot_taken{done.mark, static_cast<std::uint32_t>(trailing)}, now_ms);
}

/// Too far behind for the log: everything up to the mark comes as state. The disk stays as it is
/// until that is there. After a crash between the two our state can be there already, and newer
/// than what another member would give us.
void participant::begin_fetch(snapshot_mark mark) {
  terms_.clear();
  tail_.clear();
  tail_bytes_ = 0;
  first_ = tail_first_ = mark.index + 1;
  durable_ = still_ours_ = 0;
  unsaved_.appends.clear();
  members_ = {{mark.configuration_index, mark.configuration}};
  fetching_ = std::move(mark);
  is_fetch_told_ = handed_ >= fetching_->index;
  is_mending_ &= is_fetch_told_; // Another state comes in anyway.
}

void participant::fetched(std::uint64_t applied) {
  if (!ended_.empty())
    return;
  check(fetching_ && applied >= fetching_->index, "a state was fetched that is too old");
  handed_ = std::max(handed_, applied);
  state_durable_ = applied;
}

std::optional<refusal> participant::begin_mending() {
  if (!ended_.empty())
    return refusal::stopped;
  if (core_->is_leader() || core_->leader() == 0)
    return refusal::not_leader;
  if (fetching_ || is_mending_)
    return refusal::change_pending;
  is_mending_ = true;
  return {};
}

void participant::mended(std::uint64_t applied) {
  if (!std::exchange(is_mending_, false) || applied == 0)
    return;
  check(applied >= handed_, "a state that is older than ours took its place");
  handed_ = state_durable_ = applied;
}

std::optional<refusal> participant::note_replacement(std::uint64_t now_ms) {
  snapshot_ = std::exchange(fetching_, {});
  durable_ = snapshot_->index;
  return step(snapshot_installed{}, now_ms);
}

} // namespace assay::consensus
