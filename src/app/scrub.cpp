#include "src/app/scrub.hpp"

#include "src/app/proposing.hpp"
#include "src/base/log.hpp"
#include "src/store/ledger_machine.hpp"
#include "src/wire/row_codec.hpp"

namespace assay::app {

void scrub::look(const store::engine_status& now, steady_time at) {
  if (now.taken_over != taken_over_)
    begin_anew(now.taken_over);
  if (!damage().empty())
    return now.is_leader ? hand_over(now, at) : mend(now, at);
  if (at < next_look_)
    return;
  next_look_ = at + every;
  if (now.is_fetching)
    walk_.reset(); // Another member's rows take the place of ours.
  else
    read_on(now, at);
}

/// Another member's rows are here, which were looked at when they came.
void scrub::begin_anew(std::uint64_t taken_over) {
  taken_over_ = taken_over;
  walk_.reset();
  times_found_ = 0;
  std::lock_guard hold{mutex_};
  if (damage_.empty())
    return;
  log::info("ledger_mended");
  mending_.ended();
  ++mended_;
  damage_.clear();
}

void scrub::mend(const store::engine_status& now, steady_time at) {
  const auto is_leader_sound = is_sound_ && now.leader_id != 0 && is_sound_(now.leader_id);
  if (!mending_.is_due(now, is_leader_sound, at))
    return;
  engine_->mend([](const result<void, problem>& done) {
    if (!done)
      log::warn("mending_waits", {{"why", to_text(done.error())}});
  });
}

void scrub::read_on(const store::engine_status& now, steady_time at) {
  auto tables = tables_of(*engine_->current());
  if (!tables->head.cluster)
    return;
  if (!walk_)
    begin(*tables);
  auto wrong = check(*tables);
  times_found_ = wrong ? times_found_ + 1 : 0;
  if (!wrong && walk_->next() > tables->head.seq)
    end();
  if (!wrong)
    return;
  next_look_ += doubt;
  if (times_found_ >= times_found_most)
    believe(*wrong, now, at);
}

/// What was written last is what a lying disk loses, so it is looked at before all the rest.
void scrub::begin(const ledger::tables& t) {
  walk_.emplace(*t.head.cluster);
  if (!is_at_tail_ || t.head.seq <= records_most)
    return;
  if (auto before = record_at(t.head.seq - records_most)) // Else the whole walk comes to it.
    walk_.emplace(before->stamp.seq, before->stamp.chain);
}

void scrub::end() {
  walk_.reset();
  if (std::exchange(is_at_tail_, false))
    return;
  next_look_ += rest;
  std::lock_guard hold{mutex_};
  ++rounds_;
}

std::optional<ledger::finding> scrub::check(const ledger::tables& t) {
  auto first = walk_->next();
  auto last = std::min(t.head.seq, first + records_most - 1);
  for (auto seq = first; seq <= last; ++seq) {
    auto record = record_at(seq);
    if (!record)
      return ledger::finding{
        seq, "record " + std::to_string(seq) + " cannot be read: " + record.error()};
    if (auto wrong = walk_->take(*record))
      return wrong;
  }
  if (walk_->next() == t.head.seq + 1 && walk_->chain() != t.head.chain)
    return ledger::finding{
      t.head.seq,
      "record " + std::to_string(t.head.seq) + " is not the one that the ledger's head names"};
  return {};
}

result<ledger::record_row, std::string> scrub::record_at(std::uint64_t seq) const {
  auto row = engine_->read_row(store::row_key(ledger::table::records, ledger::record_key(seq)));
  if (!row)
    return unexpected{to_text(row.error())};
  if (!*row)
    return unexpected{std::string{"it is not there"}};
  auto decoded = wire::decode_row(**row);
  if (!decoded)
    return unexpected{decoded.error().text};
  if (auto* record = std::get_if<ledger::record_row>(&*decoded))
    return std::move(*record);
  return unexpected{std::string{"its row is of another kind"}};
}

void scrub::believe(const ledger::finding& what, const store::engine_status& now, steady_time at) {
  mending_.found(at);
  auto text = mending_.text(what.text, now);
  log::error("ledger_damaged", {{"seq", std::to_string(what.seq)}, {"why", text}});
  std::lock_guard hold{mutex_};
  damage_ = std::move(text);
}

/// Whoever cannot read its own ledger leads no longer than it takes to hand over.
void scrub::hand_over(const store::engine_status& now, steady_time at) {
  if (!now.is_leader || consensus::voters_of(now.members) < 2 || at < next_hand_over_)
    return;
  next_hand_over_ = at + hand_over_again;
  engine_->transfer(0, [](const result<void, problem>& done) {
    if (!done)
      log::warn("hand_over_waits", {{"why", to_text(done.error())}});
  });
}

std::string scrub::damage() const {
  std::lock_guard hold{mutex_};
  return damage_;
}

std::uint64_t scrub::mended() const {
  std::lock_guard hold{mutex_};
  return mended_;
}

std::uint64_t scrub::rounds() const {
  std::lock_guard hold{mutex_};
  return rounds_;
}

} // namespace assay::app
