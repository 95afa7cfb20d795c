#include "src/app/scrub.hpp"

#include "src/app/proposing.hpp"
#include "src/base/log.hpp"
#include "src/store/ledger_machine.hpp"
#include "src/wire/row_codec.hpp"

namespace assay::app {

void scrub::look(const store::engine_status& now) {
  auto at = std::chrono::steady_clock::now();
  if (!damage().empty())
    return hand_over(now);
  if (at < next_look_)
    return;
  next_look_ = at + every;
  if (now.is_fetching)
    walk_.reset(); // Another member's rows take the place of ours.
  else
    read_on();
}

void scrub::read_on() {
  auto tables = tables_of(*engine_->current());
  if (!tables->head.cluster)
    return;
  if (!walk_)
    walk_.emplace(*tables->head.cluster);
  if (walk_->next() > tables->head.seq) {
    walk_.reset();
    next_look_ += rest;
    std::lock_guard hold{mutex_};
    ++rounds_;
    return;
  }
  auto wrong = check(*tables);
  times_found_ = wrong ? times_found_ + 1 : 0;
  if (!wrong)
    return;
  next_look_ += doubt;
  if (times_found_ >= times_found_most)
    believe(*wrong);
}

std::optional<ledger::finding> scrub::check(const ledger::tables& t) {
  auto first = walk_->next();
  auto key = [](std::uint64_t seq) {
    return store::row_key(ledger::table::records, ledger::record_key(seq));
  };
  auto unreadable = [this](const std::string& why) {
    auto seq = walk_->next();
    return ledger::finding{seq, "record " + std::to_string(seq) + " cannot be read: " + why};
  };
  auto last = std::min(t.head.seq, first + records_most - 1);
  for (auto seq = first; seq <= last; ++seq) {
    auto row = engine_->read_row(key(seq));
    if (!row)
      return unreadable(to_text(row.error()));
    if (!*row)
      return unreadable("it is not there");
    auto decoded = wire::decode_row(**row);
    const auto* record = decoded ? std::get_if<ledger::record_row>(&*decoded) : nullptr;
    if (record == nullptr)
      return unreadable(decoded ? "its row is of another kind" : decoded.error().text);
    if (auto wrong = walk_->take(*record))
      return wrong;
  }
  return {};
}

void scrub::believe(const ledger::finding& what) {
  auto text = "the ledger on this disk is damaged: " + what.text
              + ". The others are unharmed; take this member out with `assay cluster remove`, look "
                "at its disk, and let it join anew with an empty data directory";
  log::error("ledger_damaged", {{"seq", std::to_string(what.seq)}, {"why", text}});
  std::lock_guard hold{mutex_};
  damage_ = std::move(text);
}

/// Whoever cannot read its own ledger leads no longer than it takes to hand over.
void scrub::hand_over(const store::engine_status& now) {
  auto at = std::chrono::steady_clock::now();
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

std::uint64_t scrub::rounds() const {
  std::lock_guard hold{mutex_};
  return rounds_;
}

} // namespace assay::app
