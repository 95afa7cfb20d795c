#include "src/store/state_fetch.hpp"

#include "src/base/limits.hpp"

namespace assay::store {

namespace {

constexpr std::uint64_t page_patience_ms = 2'000;
constexpr std::uint64_t source_pause_ms = 100; ///< Before the next member is asked.
constexpr unsigned page_tries = 4;

} // namespace

state_fetch::state_fetch(
  consensus::snapshot_mark mark,
  std::uint64_t self,
  std::uint64_t first_attempt,
  auditing begin_audit

)
  : mark_{std::move(mark)}, self_{self}, begin_audit_{std::move(begin_audit)}, attempt_{
                                                                                 first_attempt} {}

std::optional<state_request> state_fetch::due(std::uint64_t now_ms, std::uint64_t leader) {
  if (is_storing_ || now_ms < ask_at_ms_)
    return {};
  if (source_ == 0 || tries_ >= page_tries)
    begin(leader);
  ask_at_ms_ = now_ms + page_patience_ms;
  if (source_ == 0)
    return {}; // Nobody is there to be this far ahead.
  ++tries_;
  return state_request{self_, source_, attempt_, mark_.index, after_};
}

/// The leader every other time: it is there, but it has the most to do.
void state_fetch::begin(std::uint64_t leader) {
  std::vector<std::uint64_t> others;
  bool is_leader_there = false;
  for (const auto& m : mark_.configuration)
    if (m.id != self_ && m.role != consensus::member_role::spare) {
      others.push_back(m.id);
      is_leader_there |= m.id == leader;
    }
  source_ = 0;
  if (!others.empty())
    source_ = is_leader_there && sources_ % 2 == 0 ? leader : others[sources_ / 2 % others.size()];
  ++sources_;
  ++attempt_;
  tries_ = 0;
  after_.clear();
  root_ = {};
  audit_ = begin_audit_();
}

void state_fetch::give_up_on_source(std::uint64_t until_ms) {
  source_ = 0;
  ask_at_ms_ = until_ms;
}

std::optional<incoming_page> state_fetch::take(state_page page, std::uint64_t now_ms) {
  problem_.clear();
  const bool is_asked = page.attempt == attempt_ && page.from == source_ && page.after == after_;
  if (!is_asked || is_storing_)
    return {};
  problem_ = page.is_refused ? "it has no such state" : wrong_with(page);
  if (!problem_.empty()) {
    problem_ = "member " + std::to_string(page.from) + ": " + problem_;
    give_up_on_source(now_ms + source_pause_ms);
    return {};
  }
  incoming_page out;
  out.is_first = after_.empty();
  next_after_ = page.rows.empty() ? after_ : page.rows.back().key;
  out.rows = std::move(page.rows);
  if (page.is_last)
    out.end = incoming_page::moment{page.index, page.term};
  is_storing_ = true;
  return out;
}

std::string state_fetch::wrong_with(const state_page& page) {
  std::string_view before = after_;
  for (const auto& row : page.rows) {
    if (row.key <= before || row.key.size() > limits::key_bytes)
      return "a row's key is out of order";
    if (row.value.size() > limits::row_bytes)
      return "a row is too large";
    before = row.key;
    root_.add(row);
    if (audit_)
      if (auto why = audit_->take(row.key, row.value); !why.empty())
        return why;
  }
  if (!page.is_last)
    return page.rows.empty() ? "a page is empty" : "";
  if (page.index < mark_.index)
    return "the state ends at entry " + std::to_string(page.index) + ", before "
           + std::to_string(mark_.index);
  if (root_.finish() != page.root)
    return "the rows do not have the root that was promised";
  return audit_ ? audit_->finish(page.index) : "";
}

void state_fetch::stored(bool is_stored, std::uint64_t now_ms) {
  is_storing_ = false;
  if (!is_stored)
    return give_up_on_source(
      now_ms
      + static_cast<std::uint64_t>(std::chrono::milliseconds{limits::full_disk_retry}.count())
    );
  after_ = next_after_;
  tries_ = 0;
  ask_at_ms_ = now_ms;
}

} // namespace assay::store
