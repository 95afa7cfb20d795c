#include "src/store/engine_shared.hpp"

#include "src/base/limits.hpp"
#include "src/base/log.hpp"
#include "src/store/sync_watch.hpp"

#include <time.h>
#include <unistd.h>

namespace assay::store {

namespace {

std::chrono::milliseconds boot_now() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds{now.tv_sec} + std::chrono::milliseconds{now.tv_nsec / 1'000'000};
}

[[noreturn]] void exit_at_once(const std::string& why) {
  log::error("ledger stopped the process", {{"why", why}});
  // No destructors: nothing may be written after a failed sync.
  ::_exit(disk_error_exit);
}

engine_options with_defaults(engine_options options) {
  if (!options.wall)
    options.wall = wall_now;
  if (!options.boot)
    options.boot = boot_now;
  if (!options.stop_process)
    options.stop_process = exit_at_once;
  if (options.map_bytes == 0)
    options.map_bytes = limits::map_bytes;
  return options;
}

} // namespace

problem disk_full_problem(const std::string& why) {
  return {
    problem_kind::exhausted,
    "disk_full: " + why,
    "ledger",
    "nothing was changed and reading goes on; free space on the data directory's disk and ask "
    "again, no restart is needed"};
}

problem disk_low_problem(const std::string& whose) {
  return {
    problem_kind::exhausted,
    "disk_full: " + whose
      + "; only what undoes is taken: reverts and cancellations, changes of members, revocations",
    "ledger",
    "nothing was changed and reading goes on; free space on the data directory's disk there and "
    "ask again, no restart is needed"};
}

problem unknown_outcome(const std::string& why) {
  return {
    problem_kind::unavailable,
    why + ", outcome unknown",
    "ledger",
    "ask again with the same record id: if it was taken, you get its first receipt"};
}

engine_shared::engine_shared(engine_options options)
  : options_{with_defaults(std::move(options))} {}

bool engine_shared::enter() {
  auto before = waiting_.fetch_add(1);
  if (before < limits::proposals_waiting)
    return true;
  waiting_.fetch_sub(1);
  return false;
}

void engine_shared::answer_one(const ledger_engine::answered& done, answer what) {
  waiting_.fetch_sub(1);
  done(std::move(what));
}

void engine_shared::die(const std::string& why) {
  if (is_dead_.exchange(true))
    return;
  options_.stop_process(why);
  notify();
}

void engine_shared::set_full(commit_point where, bool is_full) {
  if (full_[static_cast<int>(where)].exchange(is_full) == is_full)
    return;
  auto place = where == commit_point::log ? "log" : "state";
  if (is_full)
    log::error("ledger refuses proposals: disk_full", {{"environment", place}});
  else
    log::info("ledger takes proposals again", {{"environment", place}});
  notify();
}

bool engine_shared::is_full(commit_point where) const {
  return full_[static_cast<int>(where)];
}

void engine_shared::set_low(commit_point where, bool is_low) {
  if (low_[static_cast<int>(where)].exchange(is_low) == is_low)
    return;
  auto place = where == commit_point::log ? "log" : "state";
  if (is_low)
    log::error("ledger takes only what undoes: disk_low", {{"environment", place}});
  else
    log::info("ledger has its reserve again", {{"environment", place}});
}

bool engine_shared::is_low(commit_point where) const {
  return low_[static_cast<int>(where)];
}

void engine_shared::set_applied(std::uint64_t index, wall_ms stamped_at) {
  stamped_ = stamped_at.value;
  applied_ = index;
  auto awaited = awaited_.load();
  if (index >= awaited && awaited_.compare_exchange_strong(awaited, UINT64_MAX))
    on_awaited_();
}

bool engine_shared::await(std::uint64_t index) {
  if (applied_ >= index)
    return true;
  awaited_ = index; // Before the second look: one of the two threads sees the other.
  return applied_ >= index;
}

void engine_shared::set_durable(std::uint64_t index) {
  durable_ = index;
  notify();
}

void engine_shared::notify() {
  // The empty section orders this with a waiter between its check and its sleep.
  { std::lock_guard hold{mutex_}; }
  changed_.notify_all();
}

void engine_shared::set_begun(std::uint64_t settled) {
  {
    std::lock_guard hold{mutex_};
    begun_ = settled;
  }
  changed_.notify_all();
}

void engine_shared::wait_until_begun() {
  std::unique_lock hold{mutex_};
  changed_.wait(hold, [&] { return begun_ && (durable_ >= *begun_ || is_dead_ || is_full()); });
}

void engine_shared::set_view(view_ptr next) {
  std::lock_guard hold{mutex_};
  view_ = std::move(next);
}

void engine_shared::publish() {
  if (options_.on_view)
    options_.on_view(current());
}

view_ptr engine_shared::current() const {
  std::lock_guard hold{mutex_};
  return view_;
}

void engine_shared::set_clock_fault(const std::string& text) {
  std::lock_guard hold{mutex_};
  clock_fault_ = text;
  is_clock_off_ = !text.empty();
}

std::string engine_shared::clock_fault() const {
  if (!is_clock_off_)
    return {};
  std::lock_guard hold{mutex_};
  return clock_fault_;
}

void engine_shared::set_room_fault(const std::string& text) {
  std::lock_guard hold{mutex_};
  room_fault_ = text;
  is_group_short_ = !text.empty();
}

std::string engine_shared::room_fault() const {
  if (!is_group_short_)
    return {};
  std::lock_guard hold{mutex_};
  return room_fault_;
}

void engine_shared::set_log(const log_standing& now) {
  std::lock_guard hold{mutex_};
  log_ = now;
}

engine_shared::log_standing engine_shared::log() const {
  std::lock_guard hold{mutex_};
  return log_;
}

engine_status engine_shared::status() const {
  const auto log = this->log();
  const auto now = current();
  engine_status out;
  out.server_id = options_.server_id;
  out.term = log.term;
  out.commit_index = log.commit;
  out.applied_index = applied();
  out.durable_index = durable();
  out.first_index = log.first;
  out.last_index = log.last;
  out.seq = now ? now->seq : 0;
  out.waiting = waiting();
  out.is_leader = log.is_leader;
  out.leader_id = log.leader;
  out.is_fetching = log.is_fetching;
  out.taken_over = log.taken_over;
  if (log.members)
    out.members = *log.members;
  if (const auto* self = consensus::find_member(out.members, out.server_id))
    out.role = self->role;
  out.is_membership_settled = log.is_settled;
  out.awaited_member = log.awaited;
  out.promotion_problem = log.promotion_problem;
  out.is_disk_full = is_full() || is_low();
  out.room_fault = room_fault();
  out.is_clock_trusted = log.clock_text.empty();
  out.clock_text = log.clock_text;
  out.clock_fault = clock_fault();
  out.sync = fresh(log.sync, log.sync_at, std::chrono::steady_clock::now());
  out.state_map_percent = state_map_percent();
  return out;
}

} // namespace assay::store
