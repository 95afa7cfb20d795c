#include "src/store/applier.hpp"

#include "src/base/check.hpp"
#include "src/base/limits.hpp"

#include <pthread.h>

#include <algorithm>

namespace assay::store {

namespace {

using clock = std::chrono::steady_clock;

/// Rows not committed yet, then the disk.
class pending_rows : public row_lookup {
public:
  pending_rows(
    const state_store::row_changes& pending, const state_store& disk, engine_shared& shared
  )
    : pending_{pending}, disk_{disk}, shared_{shared} {}

  std::optional<std::string> find(std::string_view key) const override {
    if (auto at = pending_.find(key); at != pending_.end())
      return at->second;
    auto row = disk_.row(key);
    if (row)
      return *std::move(row);
    shared_.die(to_text(row.error())); // Guessing that there is none would fork this member.
    return {};
  }

private:
  const state_store::row_changes& pending_;
  const state_store& disk_;
  engine_shared& shared_;
};

} // namespace

clock::duration commit_pause(clock::duration last_commit) {
  constexpr clock::duration least = limits::state_commit_every, most = 10 * least;
  return std::clamp(64 * last_commit, least, most);
}

applier::applier(
  engine_shared& shared, state_store& state, const log_store& log, state_machine& machine
)
  : shared_{shared}, state_{state}, log_{log}, machine_{machine} {}

applier::~applier() {
  stop();
}

void applier::start(const state_store::mark& applied) {
  index_ = applied.index;
  term_ = applied.term;
  shared_.set_applied(index_, machine_.stands().stamped_at);
  shared_.set_durable(index_);
  shared_.set_state_map_percent(state_.disk().map_percent());
  shared_.set_view(make_view()); // Whoever has the engine can read at once.
  thread_ = std::thread{[this] { run(); }};
  ::pthread_setname_np(thread_.native_handle(), "applier");
}

void applier::push(committed what) {
  {
    std::lock_guard hold{mutex_};
    queue_.push_back(std::move(what));
  }
  more_.notify_one();
}

void applier::push(incoming_page what, page_stored done) {
  {
    std::lock_guard hold{mutex_};
    check(!arrived_, "one page is under way at a time");
    arrived_ = arrival{std::move(what), std::move(done)};
  }
  more_.notify_one();
}

void applier::stop() {
  if (!thread_.joinable())
    return;
  {
    std::lock_guard hold{mutex_};
    is_stopping_ = true;
  }
  more_.notify_one();
  thread_.join();
}

void applier::run() {
  shared_.publish();
  for (;;) {
    auto taken = take();
    for (auto& one : taken.entries) {
      apply(one);
      if (!readers_.empty() || is_due(clock::now()))
        serve_readers();
    }
    if (taken.page)
      take_in(*std::move(taken.page));
    if (is_due(clock::now()))
      serve_readers();
    if (entries_ == 0 && shared_.is_full(commit_point::state))
      reserve_next();
    std::lock_guard hold{mutex_};
    if (is_stopping_ && queue_.empty())
      break;
  }
  serve_readers();
}

applier::work applier::take() {
  std::unique_lock hold{mutex_};
  auto is_ready = [this] { return is_stopping_ || !queue_.empty() || arrived_; };
  if (shared_.is_dead() || (entries_ == 0 && !shared_.is_full(commit_point::state)))
    more_.wait(hold, is_ready);
  else if (entries_ == 0)
    more_.wait_for(hold, limits::full_disk_retry, is_ready);
  else
    more_.wait_until(hold, due_, is_ready);
  return {std::exchange(queue_, {}), std::exchange(arrived_, {})};
}

void applier::apply(committed& what) {
  for (auto& reader : what.readers)
    readers_.push_back(std::move(reader));
  if (what.index == 0)
    return;
  if (shared_.is_dead() && what.index != index_ + 1)
    return abandon(what); // Behind one that could not be applied.
  check(what.index == index_ + 1, "entries are applied in order, each once");
  if (!what.entry) {
    auto stored = log_.entry_at(what.index);
    if (!stored) {
      shared_.die(to_text(stored.error()));
      return abandon(what);
    }
    what.entry = *std::move(stored);
  }
  apply_entry(what);
}

void applier::apply_entry(committed& what) {
  const auto term = what.entry->term;
  applied done;
  if (what.entry->kind == consensus::entry_kind::command)
    done =
      machine_.apply(what.entry->bytes, what.index, term, pending_rows{rows_, state_, shared_});
  else
    done.rows = machine_.skip(what.index, term);
  if (!done.forged.empty()) {
    shared_.die("entry " + std::to_string(what.index) + " of the log is forged: " + done.forged);
    return abandon(what);
  }
  if (!done.too_new.empty()) {
    shared_.die("entry " + std::to_string(what.index) + " of the log is too new: " + done.too_new);
    return abandon(what);
  }
  if (entries_++ == 0)
    due_ = clock::now() + pause_;
  index_ = what.index;
  term_ = term;
  keep(std::move(done.rows));
  shared_.set_applied(index_, machine_.stands().stamped_at);
  answer_askers(what, done);
}

void applier::abandon(committed& what) {
  for (const auto& done : what.askers)
    shared_.answer_one(done, unexpected{unknown_outcome("the ledger stopped")});
}

void applier::answer_askers(committed& what, applied& done) {
  check(
    what.askers.empty() || what.askers.size() == done.answers.size(),
    "a batch has as many answers as proposals"
  );
  for (std::size_t i = 0; i < what.askers.size(); ++i)
    shared_.answer_one(what.askers[i], std::move(done.answers[i]));
}

void applier::keep(std::vector<row_change> rows) {
  for (auto& row : rows) {
    check(!row.key.empty() && row.key.size() <= limits::key_bytes, "a row's key fits LMDB");
    rows_bytes_ += row.key.size() + (row.value ? row.value->size() : 0);
    rows_.insert_or_assign(std::move(row.key), std::move(row.value));
  }
}

bool applier::is_due(time_point now) const {
  if (entries_ == 0)
    return false;
  return now >= due_ || entries_ >= limits::batch_entries || rows_bytes_ >= limits::state_bytes;
}

/// Closes the open state transaction; readers are served by what is committed then.
void applier::serve_readers() {
  if (entries_ > 0)
    commit();
  if (readers_.empty())
    return;
  if (entries_ > 0)
    return refuse_readers(
      shared_.is_dead() ? unknown_outcome("the ledger stopped after a disk error")
                        : disk_full_problem("the newest state cannot be written")
    );
  auto now = shared_.current();
  for (auto& reader : std::exchange(readers_, {}))
    reader(now);
}

void applier::commit() {
  if (shared_.is_dead())
    return;
  const auto begun = clock::now();
  auto failed = state_.write(rows_, index_, term_);
  pause_ = commit_pause(clock::now() - begun);
  if (failed && !failed->is_disk_full)
    return shared_.die(failed->text);
  if (failed) {
    shared_.set_full(commit_point::state, true);
    due_ = clock::now() + limits::full_disk_retry;
    return;
  }
  rows_.clear();
  rows_bytes_ = 0;
  entries_ = 0;
  reserve_next();
  shared_.set_state_map_percent(state_.disk().map_percent());
  shared_.set_view(make_view());
  shared_.publish();
  shared_.set_durable(index_);
}

/// Room for the next transaction, so that what is taken from now on can be written as well.
void applier::reserve_next() {
  auto failed = state_.disk().reserve(limits::state_reserve_bytes);
  shared_.set_full(commit_point::state, failed.has_value());
}

void applier::refuse_readers(const problem& why) {
  for (auto& reader : std::exchange(readers_, {}))
    reader(unexpected{why});
}

view_ptr applier::make_view() {
  auto stands = machine_.stands();
  return std::make_shared<const view>(view{
    index_, term_, stands.seq, stands.stamped_at, machine_.share()});
}

} // namespace assay::store
