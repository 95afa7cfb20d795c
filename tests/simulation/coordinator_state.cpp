// The applier's part of a coordinator, and how one that is far behind gets the state of another.

#include "src/ledger/tables.hpp"
#include "src/store/ledger_machine.hpp"
#include "src/wire/row_codec.hpp"
#include "tests/simulation/coordinator.hpp"

#include <algorithm>

namespace assay::simulation {

using namespace consensus;

namespace {

constexpr std::uint64_t state_commit_ms = 10;
constexpr std::uint64_t page_records = 12;
constexpr std::uint64_t page_patience_ms = 200;
constexpr unsigned page_tries = 10;

std::string record_row_key(std::uint64_t seq) {
  return store::row_key(ledger::table::records, ledger::record_key(seq));
}

} // namespace

// -- applying -----------------------------------------------------------------------------------

std::optional<std::string> coordinator::find(std::string_view key) const {
  auto at = rows_.find(std::string{key});
  return at == rows_.end() ? std::nullopt : std::optional{at->second};
}

std::uint64_t coordinator::seq() const {
  return machine_->stands().seq;
}

void coordinator::apply(const committed_entry& what) {
  auto e = what.what ? what.what : at(what.index);
  in_.judge.committed(id_, what.index, what.term, e ? &*e : nullptr);
  if (what.index > seen_.last())
    in_.judge.fail("member " + std::to_string(id_) + " applies what its disk does not hold yet");
  if (what.index != applied_ + 1 || !e)
    return in_.judge.fail(
      "member " + std::to_string(id_) + " cannot apply entry " + std::to_string(what.index)
      + " behind " + std::to_string(applied_) + (e ? "" : ", which its log does not hold")
    );
  applied_ = what.index;
  applied_term_ = what.term;
  const auto stamp = machine_->stands().stamped_at;
  if (e->kind == entry_kind::command) {
    auto done = machine_->apply(e->bytes, what.index, what.term, *this);
    keep(std::move(done.rows));
    answer(what.ticket, done.answers);
  } else {
    keep(machine_->skip(what.index, what.term));
    if (auto at = reading_.find(what.ticket); at != reading_.end()) {
      auto all = std::move(at->second);
      reading_.erase(at);
      for (auto& one : all)
        one.tell(seq());
    }
  }
  in_.judge.stamped(id_, stamp.value, machine_->stands().stamped_at.value);
  in_.judge.applied(id_, what.index, root_);
}

void coordinator::keep(std::vector<store::row_change> changes) {
  fold root{root_};
  for (auto& c : changes) {
    root.add_bytes(c.key);
    if (c.value) {
      root.add_bytes(*c.value);
      rows_[c.key] = *c.value;
    } else
      rows_.erase(c.key);
    dirty_[c.key] = std::move(c.value);
  }
  root_ = root.value();
  plan_state_write();
}

void coordinator::answer(std::uint64_t ticket, const std::vector<store::answer>& answers) {
  auto at = asked_.find(ticket);
  if (ticket == 0 || at == asked_.end())
    return;
  auto all = std::move(at->second);
  asked_.erase(at);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (answers[i])
      all[i].tell({*answers[i], false, ""});
    else
      all[i].tell({{}, false, answers[i].error().what});
}

// -- the state environment ----------------------------------------------------------------------

void coordinator::plan_state_write() {
  if (state_writing_ || std::exchange(is_state_due_, true))
    return;
  later(state_commit_ms, [this] { begin_state_write(); });
}

void coordinator::begin_state_write() {
  is_state_due_ = false;
  if (state_writing_) // A fetched state goes first, and takes what waits with it.
    return;
  state_writing_ = state_write{std::exchange(dirty_, {}), applied_, applied_term_, root_, false};
  later(sync_ms(), [this] { state_write_done(); });
  in_.begins(id_, stage::committing);
}

void coordinator::state_write_done() {
  // Without room the rows wait on; a restart would apply them again from the log.
  if (in_.time.now() < disk_.full_until) {
    const auto what = state_writing_->replaces_all ? stage::adopting : stage::committing;
    in_.suffered.note(what, mishap::disk_full);
    return later(100, [this] { state_write_done(); });
  }
  const auto done = *std::exchange(state_writing_, {});
  if (!disk_.lies)
    write(disk_.state, done);
  if (done.replaces_all) {
    load();
    fetch_.reset();
    participant_->fetched(applied_);
  } else
    participant_->state_is_durable(done.applied);
  if (!dirty_.empty())
    plan_state_write();
  if (fetch_ && fetch_->is_complete)
    store_fetched();
  pump();
}

// -- fetching -----------------------------------------------------------------------------------

void coordinator::begin_fetch(snapshot_mark mark) {
  ++fetches_;
  fetch_ = fetch{};
  fetch_->mark = std::move(mark);
  in_.judge.trace.add(5).add(id_).add(fetch_->mark.index);
  ask_for_page();
  in_.begins(id_, stage::fetching);
}

void coordinator::ask_for_page() {
  if (++fetch_->tries > page_tries)
    return restart_from_disk();
  fetch_->attempt = ++attempts_;
  auto from = participant_->leader();
  const auto& members = fetch_->mark.configuration;
  if (from == 0 || from == id_ || in_.luck.happens(200))
    from = members[in_.luck.below(members.size())].id;
  in_.send(id_, from, fetch_request{fetch_->attempt, fetch_->mark.index, fetch_->next_seq});
  later(page_patience_ms, [this, attempt = fetch_->attempt] {
    if (fetch_ && fetch_->attempt == attempt && !fetch_->is_complete) {
      in_.suffered.note(stage::fetching, mishap::link_cut);
      ask_for_page();
    }
  });
}

void coordinator::serve(std::uint64_t to, const fetch_request& what) {
  fetch_reply out;
  out.attempt = what.attempt;
  out.is_too_old = applied_ < what.at_least;
  out.is_last = !out.is_too_old && what.from_seq > seq();
  out.next_seq = std::min(what.from_seq + page_records, seq() + 1);
  for (auto s = what.from_seq; !out.is_too_old && s < out.next_seq; ++s)
    out.rows[record_row_key(s)] = rows_.at(record_row_key(s));
  if (out.is_last) {
    const auto records = store::row_key(ledger::table::records, {});
    for (const auto& [key, value] : rows_)
      if (!key.starts_with(records))
        out.rows[key] = value;
    out.applied = applied_;
    out.term = applied_term_;
    out.root = root_;
  }
  in_.send(id_, to, std::move(out));
}

void coordinator::take_page(fetch_reply what) {
  if (!fetch_ || fetch_->attempt != what.attempt || fetch_->is_complete)
    return;
  if (what.is_too_old)
    return; // Patience asks again.
  if (!is_chained(what))
    return in_.judge.fail("a page of records does not continue the chain");
  fetch_->tries = 0;
  fetch_->next_seq = what.next_seq;
  fetch_->rows.merge(what.rows);
  if (!what.is_last)
    return ask_for_page();
  in_.judge.applied(id_, what.applied, what.root);
  fetch_->is_complete = true;
  fetch_->applied = what.applied;
  fetch_->term = what.term;
  fetch_->root = what.root;
  if (!state_writing_)
    store_fetched();
}

/// Records name the head of the chain before them; a page begins where the last one ended.
bool coordinator::is_chained(const fetch_reply& page) {
  const auto records = store::row_key(ledger::table::records, {});
  for (const auto& [key, value] : page.rows) {
    if (!key.starts_with(records))
      continue;
    auto row = wire::decode_row(*value);
    const auto* record = row ? std::get_if<ledger::record_row>(&*row) : nullptr;
    if (record == nullptr)
      return false;
    if (record->stamp.seq > 1 && record->stamp.previous_chain != fetch_->chain)
      return false;
    fetch_->chain = record->stamp.chain;
  }
  return true;
}

/// The state first: a log that ends behind the state would have nobody to fill the gap.
void coordinator::store_fetched() {
  dirty_.clear();
  state_writing_ =
    state_write{std::move(fetch_->rows), fetch_->applied, fetch_->term, fetch_->root, true};
  if (in_.how.made.replaces_log_first && !disk_.lies)
    disk_.log.write({{}, {}, {}, fetch_->mark});
  later(sync_ms(), [this] { state_write_done(); });
  in_.begins(id_, stage::adopting);
}

/// The library knows no failed install: it begins again from what the disk holds.
void coordinator::restart_from_disk() {
  in_.judge.trace.add(6).add(id_);
  end_process();
}

} // namespace assay::simulation
