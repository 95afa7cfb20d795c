#include "src/store/applier.hpp"

#include "src/base/check.hpp"
#include "src/base/room_limits.hpp"

#include <pthread.h>

#include <algorithm>

namespace assay::store {

namespace {

using clock = std::chrono::steady_clock;

/// Rows not committed yet, the newer ones first, then the disk.
class pending_rows : public row_lookup {
public:
  using row_changes = state_store::row_changes;

  pending_rows(
    const row_changes& open,
    const row_changes* closed,
    const state_store& disk,
    engine_shared& shared
  )
    : open_{open}, closed_{closed}, disk_{disk}, shared_{shared} {}

  std::optional<std::string> find(std::string_view key) const override {
    for (const auto* pending : {&open_, closed_})
      if (pending != nullptr)
        if (auto at = pending->find(key); at != pending->end())
          return at->second;
    auto row = disk_.row(key);
    if (row)
      return *std::move(row);
    shared_.die(to_text(row.error())); // Guessing that there is none would fork this member.
    return {};
  }

private:
  const row_changes& open_;
  const row_changes* closed_;
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
  : shared_{shared}, state_{state}, log_{log}, machine_{machine},
    writer_{state, [this](state_writer::outcome what) {
              {
                std::lock_guard hold{mutex_};
                outcome_ = std::move(what);
              }
              more_.notify_one();
            }} {}

applier::~applier() {
  stop();
}

void applier::start(const state_store::mark& applied) {
  index_ = applied.index;
  term_ = applied.term;
  shared_.set_applied(index_, machine_.stands().stamped_at);
  shared_.set_durable(index_);
  shared_.set_state_map_percent(state_.disk()->map_percent());
  shared_.set_view(make_view()); // Whoever has the engine can read at once.
  reserve_next();
  writer_.start();
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
  writer_.stop();
}

void applier::run() {
  shared_.publish();
  for (;;) {
    auto taken = take();
    if (taken.written)
      written(*std::move(taken.written));
    for (auto& one : taken.entries) {
      apply(one);
      advance();
    }
    if (taken.page) {
      wait_for_writer(); // A page is written from here.
      take_in(*std::move(taken.page));
    }
    advance();
    if (!closed_ && open_.entries == 0 && is_short_of_room())
      reserve_next();
    std::lock_guard hold{mutex_};
    if (is_stopping_ && queue_.empty())
      break;
  }
  commit_rest();
}

applier::work applier::take() {
  std::unique_lock hold{mutex_};
  auto is_ready = [this] { return is_stopping_ || !queue_.empty() || arrived_ || outcome_; };
  if (shared_.is_dead() || is_writing_)
    more_.wait(hold, is_ready);
  else if (closed_ || open_.entries > 0)
    more_.wait_until(hold, closed_ ? retry_at_ : due_, is_ready);
  else if (is_short_of_room())
    more_.wait_for(hold, limits::full_disk_retry, is_ready);
  else
    more_.wait(hold, is_ready);
  return {std::exchange(queue_, {}), std::exchange(arrived_, {}), std::exchange(outcome_, {})};
}

void applier::apply(committed& what) {
  for (auto& reader : what.readers)
    open_.readers.push_back(std::move(reader));
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
  const pending_rows known{open_.rows, closed_ ? &closed_->rows : nullptr, state_, shared_};
  applied done;
  if (what.entry->kind == consensus::entry_kind::command)
    done = machine_.apply(what.entry->bytes, what.index, term, known);
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
  if (open_.entries++ == 0)
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
    open_.bytes += row.key.size() + (row.value ? row.value->size() : 0);
    open_.rows.insert_or_assign(std::move(row.key), std::move(row.value));
  }
}

// -- to disk, and to readers ------------------------------------------------------------------

bool applier::is_due(time_point now) const {
  return now >= due_ || open_.entries >= limits::batch_entries
         || open_.bytes >= limits::state_bytes;
}

/// Sets on its way what is due, and what readers wait for.
void applier::advance() {
  if (shared_.is_dead() && (closed_ || open_.entries > 0))
    return refuse_readers(unknown_outcome("the ledger stopped"));
  if (is_writing_ && open_.bytes >= limits::state_bytes)
    wait_for_writer(); // Memory has a bound; the log's writer has to wait for us then.
  const auto now = clock::now();
  const auto is_asked = !open_.readers.empty();
  if (closed_ && !is_writing_ && (is_asked || now >= retry_at_))
    write_closed(now);
  if (!closed_ && open_.entries > 0 && (is_asked || is_due(now))) {
    close();
    write_closed(now);
  }
  if (is_asked)
    serve_readers();
}

void applier::close() {
  open_.view = make_view();
  closed_ = std::exchange(open_, {});
}

void applier::write_closed(time_point now) {
  if (shared_.is_dead())
    return;
  retry_at_ = now + limits::full_disk_retry;
  is_writing_ = true;
  writer_.begin(closed_->rows, closed_->view->index, closed_->view->term);
}

void applier::wait_for_writer() {
  if (!is_writing_)
    return;
  std::optional<state_writer::outcome> what;
  {
    std::unique_lock hold{mutex_};
    more_.wait(hold, [this] { return outcome_.has_value(); });
    what = std::exchange(outcome_, {});
  }
  written(*std::move(what));
}

void applier::written(state_writer::outcome what) {
  is_writing_ = false;
  pause_ = commit_pause(what.took);
  if (what.failed && !what.failed->is_disk_full) {
    shared_.die(what.failed->text);
    return refuse_readers(unknown_outcome("the ledger stopped"));
  }
  if (what.failed) {
    shared_.set_full(commit_point::state, true);
    return refuse_readers(disk_full_problem("the newest state cannot be written"));
  }
  auto done = *std::exchange(closed_, {});
  reserve_next();
  shared_.set_state_map_percent(state_.disk()->map_percent());
  shared_.set_view(done.view);
  shared_.publish();
  shared_.set_durable(done.view->index);
  for (auto& reader : done.readers)
    reader(done.view);
}

/// At the end of the thread: a set that waits for room is tried once more.
void applier::commit_rest() {
  wait_for_writer();
  for (bool is_more = closed_ || open_.entries > 0; is_more;
       is_more = !closed_ && open_.entries > 0) {
    if (!closed_)
      close();
    write_closed(clock::now());
    wait_for_writer();
  }
  if (closed_)
    return refuse_readers(unknown_outcome("the ledger stopped"));
  serve_readers();
}

/// Room for the next transaction, so that what is taken from now on can be written as well; and
/// behind it the room that is kept for essential records.
void applier::reserve_next() {
  constexpr auto next = limits::state_reserve_bytes;
  const auto disk = state_.disk();
  shared_.set_full(commit_point::state, disk->reserve(next).has_value());
  shared_.set_low(commit_point::state, disk->reserve(next + limits::kept_state_bytes).has_value());
}

bool applier::is_short_of_room() const {
  return shared_.is_full(commit_point::state) || shared_.is_low(commit_point::state);
}

/// Those behind everything that was applied: it is on disk, or they go with the set that brings it.
void applier::serve_readers() {
  if (open_.entries > 0) // They wait for the set before it.
    return;
  auto readers = std::exchange(open_.readers, {});
  if (closed_)
    return (void)std::ranges::move(readers, std::back_inserter(closed_->readers));
  for (auto& reader : readers)
    reader(shared_.current());
}

void applier::refuse_readers(const problem& why) {
  for (auto* set : {closed_ ? &*closed_ : nullptr, &open_})
    if (set != nullptr)
      for (auto& reader : std::exchange(set->readers, {}))
        reader(unexpected{why});
}

view_ptr applier::make_view() {
  auto stands = machine_.stands();
  return std::make_shared<const view>(view{
    index_, term_, stands.seq, stands.stamped_at, machine_.share()});
}

} // namespace assay::store
