// The thread and its queue; what it says to the participant and does for it is in
// log_writer_rounds.cpp.

#include "src/store/log_writer.hpp"

#include "src/base/limits.hpp"
#include "src/base/log.hpp"
#include "src/store/log_refusals.hpp"
#include "src/store/monotonic.hpp"

#include <pthread.h>

#include <algorithm>

namespace assay::store {

log_writer::log_writer(
  engine_shared& shared,
  log_store& log,
  state_machine& machine,
  applier& next,
  std::unique_ptr<consensus::participant> member
)
  : shared_{shared}, log_{log}, machine_{machine}, next_{next}, member_{std::move(member)} {}

log_writer::~log_writer() {
  stop();
}

// -- from any thread ----------------------------------------------------------------------------

void log_writer::start(log_store::contents disk, std::uint64_t applied) {
  last_stamp_ = shared_.stamped_at();
  thread_ = std::thread{
    [this, applied, disk = std::move(disk)]() mutable { run(std::move(disk), applied); }};
  ::pthread_setname_np(thread_.native_handle(), "log writer");
}

void log_writer::propose(proposal what, ledger_engine::answered done) {
  waiting_proposal one{std::move(what), std::move(done)};
  if (!inbox_.put(one))
    shared_.answer_one(one.done, unexpected{closing_problem()});
}

void log_writer::read(ledger_engine::viewed done) {
  if (!inbox_.put(done))
    done(unexpected{closing_problem()});
}

void log_writer::order(store::order what) {
  if (!inbox_.put(what))
    what.done(unexpected{closing_problem()});
}

void log_writer::stop() {
  if (!thread_.joinable())
    return;
  inbox_.close();
  thread_.join();
}

// -- the thread ---------------------------------------------------------------------------------

void log_writer::run(log_store::contents disk, std::uint64_t applied) {
  begin(std::move(disk), applied);
  while (!inbox_.is_closed())
    round(inbox_.take(wake_up(), [this] { return least_to_seal(); }));
  turn_everybody_away();
}

/// Nothing is left to answer when the thread ends. What is in flight may still commit: not here,
/// but a majority of others may have it.
void log_writer::turn_everybody_away() {
  auto left = inbox_.leftovers();
  for (auto& one : left.proposals)
    shared_.answer_one(one.done, unexpected{closing_problem()});
  for (auto& reader : left.readers)
    reader(unexpected{closing_problem()});
  for (auto& one : left.orders)
    one.done(unexpected{closing_problem()});
  for (auto& reader : std::exchange(next_readers_, {}))
    reader(unexpected{closing_problem()});
  for (auto& [ticket, who] : std::exchange(in_flight_, {})) {
    for (auto& done : who.askers)
      shared_.answer_one(done, unexpected{unknown_outcome("the ledger is closing")});
    for (auto& reader : who.readers)
      reader(unexpected{closing_problem()});
  }
}

std::chrono::steady_clock::time_point log_writer::wake_up() const {
  const auto now = std::chrono::steady_clock::now();
  // A deadline at least once a second keeps the clock watched.
  auto next = std::min(at_ms(member_->wake_up_ms()), now + std::chrono::seconds{1});
  if (shared_.is_full(commit_point::log) || shared_.is_low(commit_point::log))
    next = std::min(next, now + limits::full_disk_retry);
  if (next_batch_.until() > now)
    next = std::min(next, next_batch_.until());
  if (fetch_ && !is_page_under_way_ && fetch_->wake_up_ms() != UINT64_MAX)
    next = std::min(next, at_ms(fetch_->wake_up_ms()));
  return next;
}

/// The next batch gathers while one is on its way, and for a moment after it was answered.
///
/// Nothing is sealed before everything older has its stamp and the applier has told us the newest
/// one. Who is to be refused is not kept waiting.
std::size_t log_writer::least_to_seal() {
  if (!member_->is_leader() || shared_.is_dead() || shared_.is_short_of_room())
    return 1;
  if (!shared_.await(member_->first_of_term()))
    return SIZE_MAX;
  const auto barriers = barrier_ == 0 ? 0U : 1U;
  if (in_flight_.size() > barriers)
    return limits::batch_entries;
  return next_batch_.least(std::chrono::steady_clock::now());
}

void log_writer::watch_clock(bool is_accepted) {
  bool was_trusted = clock_.is_trusted();
  clock_.observe(shared_.options().wall(), shared_.options().boot());
  if (is_accepted)
    clock_.trust();
  if (was_trusted && !clock_.is_trusted())
    log::warn("time-driven proposals stopped", {{"why", clock_.text()}});
}

} // namespace assay::store
