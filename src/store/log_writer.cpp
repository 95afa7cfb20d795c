#include "src/store/log_writer.hpp"

#include "src/base/check.hpp"
#include "src/base/limits.hpp"
#include "src/base/log.hpp"
#include "src/consensus/configuration.hpp"

#include <pthread.h>

#include <algorithm>

namespace assay::store {

namespace {

using clock = std::chrono::steady_clock;
using consensus::entry;
using consensus::entry_kind;

std::uint64_t now_ms() {
  return static_cast<std::uint64_t>(
    std::chrono::duration_cast<std::chrono::milliseconds>(clock::now().time_since_epoch()).count()
  );
}

clock::time_point at_ms(std::uint64_t ms) {
  return clock::time_point{std::chrono::milliseconds{ms}};
}

problem closing_problem() {
  return {
    problem_kind::unavailable,
    "the ledger is closing; nothing was changed",
    "ledger",
    "ask again when it is back"};
}

problem not_leader_problem() {
  return {
    problem_kind::unavailable,
    "this coordinator does not lead the ledger; nothing was changed",
    "ledger",
    "ask the leader, or again in a few seconds"};
}

problem map_full_problem(std::uint32_t percent) {
  return {
    problem_kind::exhausted,
    "disk_full: " + std::to_string(percent) + " % of the ledger's address space is in use, "
      + std::to_string(limits::map_use_percent) + " % is allowed",
    "ledger",
    "nothing was changed and reading goes on; raise the map size in the configuration and restart"};
}

} // namespace

log_writer::log_writer(
  engine_shared& shared,
  log_store& log,
  state_machine& machine,
  applier& next,
  std::unique_ptr<consensus::core> core
)
  : shared_{shared}, log_{log}, machine_{machine}, next_{next}, core_{std::move(core)} {}

log_writer::~log_writer() {
  stop();
}

// -- from any thread ----------------------------------------------------------------------------

void log_writer::start(log_store::contents disk, std::uint64_t applied) {
  handed_ = applied;
  last_stamp_ = shared_.stamped_at();
  thread_ = std::thread{[this, disk = std::move(disk)]() mutable { run(std::move(disk)); }};
  ::pthread_setname_np(thread_.native_handle(), "log writer");
}

void log_writer::propose(proposal what, ledger_engine::answered done) {
  {
    std::lock_guard hold{mutex_};
    if (!is_stopping_) {
      proposals_.push_back({std::move(what), std::move(done)});
      done = {};
    }
  }
  if (done)
    return shared_.answer_one(done, unexpected{closing_problem()});
  more_.notify_one();
}

void log_writer::read(ledger_engine::viewed done) {
  {
    std::lock_guard hold{mutex_};
    if (!is_stopping_) {
      readers_.push_back(std::move(done));
      done = {};
    }
  }
  if (done)
    return done(unexpected{closing_problem()});
  more_.notify_one();
}

void log_writer::trust_clock() {
  {
    std::lock_guard hold{mutex_};
    is_clock_accepted_ = true;
  }
  more_.notify_one();
}

void log_writer::stop() {
  if (!thread_.joinable())
    return;
  {
    std::lock_guard hold{mutex_};
    is_stopping_ = true;
  }
  more_.notify_one();
  thread_.join();
}

// -- the thread ---------------------------------------------------------------------------------

void log_writer::run(log_store::contents disk) {
  first_ = disk.first_index;
  snapshot_ = disk.snapshot ? disk.snapshot->index : 0;
  replayed_ = disk.first_index + disk.entries.size() - 1;
  if (disk.snapshot)
    members_[disk.snapshot->configuration_index] = disk.snapshot->configuration;
  for (std::size_t i = 0; i < disk.entries.size(); ++i)
    if (disk.entries[i].kind == entry_kind::change)
      if (auto decoded = consensus::decode_configuration(disk.entries[i].bytes))
        members_[disk.first_index + i] = *decoded;
  // Nobody elects the sole voter, so the library would go on in the term of the run before; but a
  // term is what tells this run's orders from that one's. Raising it is always allowed before the
  // first message.
  if (!members_.empty() && members_.rbegin()->second.size() == 1) {
    ++disk.hard.term;
    unsaved_.hard = disk.hard;
  }
  step(consensus::started{disk.hard, disk.snapshot, disk.first_index, std::move(disk.entries)});
  for (;;) {
    auto what = take();
    {
      std::lock_guard hold{mutex_};
      if (is_stopping_)
        break;
    }
    watch_clock(what.is_clock_accepted);
    retry_room();
    submit(what);
    if (!what.readers.empty())
      read_now(std::move(what.readers));
    if (now_ms() >= core_->timeout_ms())
      step(consensus::timed_out{});
    compact();
    report();
  }
  for (auto& one : std::exchange(proposals_, {}))
    shared_.answer_one(one.done, unexpected{closing_problem()});
  for (auto& reader : std::exchange(readers_, {}))
    reader(unexpected{closing_problem()});
  for (auto& [index, who] : std::exchange(in_flight_, {})) {
    for (auto& done : who.askers)
      shared_.answer_one(done, unexpected{unknown_outcome("the ledger is closing")});
    for (auto& reader : who.readers)
      reader(unexpected{closing_problem()});
  }
}

clock::time_point log_writer::wake_up() const {
  // A deadline at least once a second keeps the clock watched.
  auto next = std::min(at_ms(core_->timeout_ms()), clock::now() + std::chrono::seconds{1});
  if (shared_.is_full(commit_point::log))
    next = std::min(next, clock::now() + limits::full_disk_retry);
  return next;
}

log_writer::work log_writer::take() {
  const auto until = wake_up();
  work out;
  std::unique_lock hold{mutex_};
  more_.wait_until(hold, until, [this] {
    // Batches are sealed only when everything older has its stamp: until then proposals wait.
    bool is_ready = shared_.applied() >= replayed_;
    return is_stopping_ || is_clock_accepted_ || !readers_.empty()
           || (is_ready && !proposals_.empty());
  });
  out.is_clock_accepted = std::exchange(is_clock_accepted_, false);
  if (is_stopping_)
    return out;
  out.readers = std::exchange(readers_, {});
  if (shared_.applied() < replayed_ && !shared_.is_dead() && !shared_.is_full())
    return out;
  std::size_t bytes = 0;
  while (!proposals_.empty() && out.proposals.size() < limits::batch_entries) {
    bytes += proposals_.front().what.bytes.size();
    if (bytes > limits::batch_bytes)
      break;
    out.proposals.push_back(std::move(proposals_.front()));
    proposals_.pop_front();
  }
  return out;
}

void log_writer::watch_clock(bool is_accepted) {
  bool was_trusted = clock_.is_trusted();
  clock_.observe(shared_.options().wall(), shared_.options().boot());
  if (is_accepted)
    clock_.trust();
  if (was_trusted && !clock_.is_trusted())
    log::warn("time-driven proposals stopped", {{"why", clock_.text()}});
}

/// After a full disk: writes what waits, or else sees whether there is room again.
void log_writer::retry_room() {
  if (save() && shared_.is_full(commit_point::log))
    shared_.set_full(
      commit_point::log, log_.disk().reserve(limits::state_reserve_bytes).has_value()
    );
}

// -- proposing ----------------------------------------------------------------------------------

void log_writer::submit(work& what) {
  drop_refused(what.proposals);
  if (what.proposals.empty())
    return;
  in_flight who;
  auto entry = seal(what.proposals);
  for (auto& one : what.proposals)
    who.askers.push_back(std::move(one.done));
  submit_entry(std::move(entry), std::move(who));
}

void log_writer::drop_refused(std::vector<waiting_proposal>& proposals) {
  if (proposals.empty())
    return;
  std::uint64_t bytes = 0;
  for (const auto& one : proposals)
    bytes += one.what.bytes.size() + 256;
  auto all = refusal_for_all(bytes);
  std::erase_if(proposals, [&](waiting_proposal& one) {
    auto refused = all ? all : refusal_for(one);
    if (refused)
      shared_.answer_one(one.done, unexpected{*refused});
    return refused.has_value();
  });
}

std::optional<problem> log_writer::refusal_for(const waiting_proposal& one) const {
  if (!one.what.is_time_driven || clock_.is_trusted())
    return {};
  return problem{
    problem_kind::refused,
    clock_.text(),
    "ledger",
    "check the machine's time with `timedatectl`, then restart assayd, which accepts it"};
}

std::optional<problem> log_writer::refusal_for_all(std::uint64_t bytes) {
  if (shared_.is_dead())
    return unknown_outcome("the ledger stopped after a disk error");
  if (unsaved_.hard || !unsaved_.appends.empty())
    return disk_full_problem("the log cannot be written");
  if (!core_->is_leader())
    return not_leader_problem();
  if (shared_.is_full(commit_point::state))
    return disk_full_problem("the newest state cannot be written");
  auto used = log_.disk().map_percent();
  if (used > limits::map_use_percent)
    return map_full_problem(used);
  if (auto used_state = shared_.state_map_percent(); used_state > limits::map_use_percent)
    return map_full_problem(used_state);
  auto failed = log_.disk().reserve(bytes);
  shared_.set_full(commit_point::log, failed.has_value());
  if (failed)
    return disk_full_problem(failed->text);
  return {};
}

entry log_writer::seal(std::vector<waiting_proposal>& proposals) {
  std::vector<std::string> bytes;
  for (auto& one : proposals)
    bytes.push_back(std::move(one.what.bytes));
  last_stamp_ = next_stamp(shared_.options().wall(), std::max(last_stamp_, shared_.stamped_at()));
  return {0, entry_kind::command, machine_.seal(bytes, last_stamp_, core_->term())};
}

void log_writer::submit_entry(entry entry, in_flight who) {
  const auto index = core_->last_index() + 1;
  auto taken = core_->step(consensus::submitted{{std::move(entry)}}, now_ms());
  if (!taken) {
    for (auto& done : who.askers)
      shared_.answer_one(done, unexpected{not_leader_problem()});
    for (auto& reader : who.readers)
      reader(unexpected{not_leader_problem()});
    return;
  }
  in_flight_.emplace(index, std::move(who));
  carry_out(*std::move(taken));
}

void log_writer::read_now(std::vector<ledger_engine::viewed> readers) {
  if (!core_->is_leader()) {
    for (auto& reader : readers)
      reader(unexpected{not_leader_problem()});
    return;
  }
  // Nobody can have overtaken a group of one: what it answered is what it handed over.
  if (core_->members().size() == 1)
    return next_.push({0, {}, {}, std::move(readers)});
  // Of several, an entry of our term that commits after the question proves that we still lead.
  submit_entry({0, entry_kind::barrier, std::string(8, '\0')}, {{}, std::move(readers)});
}

// -- stepping -----------------------------------------------------------------------------------

void log_writer::step(consensus::event what) {
  auto done = core_->step(std::move(what), now_ms());
  if (done)
    return carry_out(*std::move(done));
  if (done.error() == consensus::refusal::stopped)
    shared_.die("consensus stopped: the log contradicts what was committed");
}

void log_writer::carry_out(consensus::updates what) {
  // A group of one writes to nobody; peers' messages will leave here, after the save.
  if (what.hard)
    unsaved_.hard = what.hard;
  for (auto& a : what.appends) {
    remember(a);
    unsaved_.appends.push_back(std::move(a));
  }
  save();
  hand_over();
}

/// Writes what is not on disk yet; false while it cannot.
bool log_writer::save() {
  while (unsaved_.hard || !unsaved_.appends.empty()) {
    if (shared_.is_dead())
      return false;
    auto failed = log_.write(unsaved_.hard, unsaved_.appends);
    if (failed && !failed->is_disk_full) {
      shared_.die(failed->text);
      return false;
    }
    shared_.set_full(commit_point::log, failed.has_value());
    if (failed)
      return false;
    auto saved = std::exchange(unsaved_, {});
    if (saved.appends.empty())
      break;
    const auto& last = saved.appends.back();
    auto done = core_->step(consensus::persisted{last.index + last.entries.size() - 1}, now_ms());
    check(done.has_value(), "what was stored is in the log");
    unsaved_.hard = done->hard;
    for (auto& a : done->appends) {
      remember(a);
      unsaved_.appends.push_back(std::move(a));
    }
  }
  hand_over();
  return true;
}

void log_writer::remember(const consensus::append& what) {
  // Entries that are overwritten lose their askers: somebody else leads.
  for (auto at = in_flight_.lower_bound(what.index); at != in_flight_.end();) {
    bool is_ours = at->first < what.index + what.entries.size()
                   && what.entries[at->first - what.index].term == core_->term();
    if (is_ours && core_->is_leader()) {
      ++at;
      continue;
    }
    for (auto& done : at->second.askers)
      shared_.answer_one(done, unexpected{unknown_outcome("leadership changed")});
    for (auto& reader : at->second.readers)
      reader(unexpected{not_leader_problem()});
    at = in_flight_.erase(at);
  }
  cache_.erase(cache_.lower_bound(what.index), cache_.end());
  members_.erase(members_.lower_bound(what.index), members_.end());
  auto index = what.index;
  for (const auto& e : what.entries) {
    if (e.kind == entry_kind::change)
      if (auto decoded = consensus::decode_configuration(e.bytes))
        members_[index] = *decoded;
    cache_.emplace(index++, e);
  }
}

void log_writer::hand_over() {
  for (committed_ = core_->commit_index(); handed_ < committed_;) {
    committed out;
    out.index = ++handed_;
    if (auto at = cache_.find(handed_); at != cache_.end())
      out.entry = std::move(at->second);
    if (auto at = in_flight_.find(handed_); at != in_flight_.end()) {
      out.askers = std::move(at->second.askers);
      out.readers = std::move(at->second.readers);
      in_flight_.erase(at);
    }
    cache_.erase(handed_);
    next_.push(std::move(out));
  }
}

/// Only behind a committed state transaction, and never so often that it costs.
void log_writer::compact() {
  const auto trailing = shared_.trailing();
  const auto reached = std::min(shared_.durable(), handed_);
  if (shared_.is_dead() || shared_.is_full() || reached < snapshot_ + 2ULL * trailing)
    return;
  auto at_mark = log_.entry_at(reached);
  auto members = members_.upper_bound(reached);
  if (!at_mark || members == members_.begin())
    return;
  --members;
  consensus::snapshot_mark mark{reached, at_mark->term, members->first, members->second};
  const auto first_kept = reached - trailing + 1;
  if (auto failed = log_.compact(mark, first_kept)) {
    if (!failed->is_disk_full)
      shared_.die(failed->text);
    return;
  }
  snapshot_ = reached;
  first_ = first_kept;
  members_.erase(members_.begin(), members);
  step(consensus::snapshot_taken{std::move(mark), trailing});
}

void log_writer::report() {
  shared_.set_log(
    {core_->term(),
     core_->commit_index(),
     first_,
     core_->last_index(),
     core_->is_leader(),
     clock_.text()}
  );
}

} // namespace assay::store
