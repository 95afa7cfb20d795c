#pragma once
// What the engine's two threads and its callers share. Everything here is safe for any thread.

#include "src/consensus/values.hpp"
#include "src/store/ledger_engine.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

namespace assay::store {

class engine_shared {
public:
  explicit engine_shared(engine_options options);

  const engine_options& options() const { return options_; }

  // -- answers ------------------------------------------------------------------------------
  /// Takes a place among those that wait; false when all are taken.
  bool enter();
  void answer_one(const ledger_engine::answered& done, answer what);
  std::uint64_t waiting() const { return waiting_; }

  // -- the end ------------------------------------------------------------------------------
  /// A commit failed for good. Ends the process, or in tests lets the engine answer and stand
  /// still.
  void die(const std::string& why);
  bool is_dead() const { return is_dead_; }

  // -- progress -----------------------------------------------------------------------------
  void set_full(commit_point where, bool is_full);
  bool is_full(commit_point where) const;
  bool is_full() const { return is_full(commit_point::log) || is_full(commit_point::state); }
  /// Part of what is kept for essential records is gone, and there is no room to take it again.
  void set_low(commit_point where, bool is_low);
  bool is_low(commit_point where) const;
  bool is_low() const { return is_low(commit_point::log) || is_low(commit_point::state); }
  void set_applied(std::uint64_t index, wall_ms stamped_at);
  void set_durable(std::uint64_t index);
  void set_state_map_percent(std::uint32_t percent) { state_map_percent_ = percent; }
  std::uint32_t state_map_percent() const { return state_map_percent_; }
  std::uint64_t applied() const { return applied_; }
  std::uint64_t durable() const { return durable_; }
  wall_ms stamped_at() const { return {stamped_}; }

  /// Whether `index` is applied; when it is not, `on_awaited` is called once it is. LOG WRITER
  /// thread.
  bool await(std::uint64_t index);
  /// Before the threads start.
  void on_awaited(std::function<void()> what) { on_awaited_ = std::move(what); }

  /// LOG WRITER has looked at its log: what is known of the group is told, and everything up to
  /// `settled` will be applied without another member's word.
  void set_begun(std::uint64_t settled);
  /// Waits for that, and until so much is applied or nothing more will be for now.
  void wait_until_begun();

  void set_view(view_ptr next);
  /// Tells the subscriber of the view that was set last. APPLIER thread.
  void publish();
  view_ptr current() const;

  struct log_standing {
    std::uint64_t term = 0, commit = 0, first = 0, last = 0, leader = 0;
    std::uint64_t awaited = 0; ///< Of whom the leader waits to hear that it votes.
    bool is_leader = false;
    bool is_settled = false;
    bool is_fetching = false;
    std::uint64_t taken_over = 0;
    std::string clock_text;
    std::chrono::milliseconds sync{0};
    std::chrono::steady_clock::time_point sync_at;
    std::string_view promotion_problem;                      ///< A literal of the participant's.
    std::shared_ptr<const consensus::configuration> members; ///< Copied each round, seldom new.
  };
  void set_clock_fault(const std::string& text);
  std::string clock_fault() const;
  void set_room_fault(const std::string& text);
  std::string room_fault() const;
  /// Whether anything keeps ordinary proposals out for want of room.
  bool is_short_of_room() const { return is_full() || is_low() || is_group_short_; }

  void set_log(const log_standing& now);
  log_standing log() const;

  /// All but how full the log's map is.
  engine_status status() const;

private:
  void notify();

  const engine_options options_;
  std::atomic<std::uint64_t> waiting_ = 0;
  std::atomic<bool> is_dead_ = false;
  std::atomic<bool> full_[2] = {false, false};
  std::atomic<bool> low_[2] = {false, false};
  std::atomic<std::uint64_t> applied_ = 0;
  std::atomic<std::uint64_t> durable_ = 0;
  std::atomic<std::uint64_t> awaited_ = UINT64_MAX;
  std::atomic<std::int64_t> stamped_ = 0;
  std::atomic<std::uint32_t> state_map_percent_ = 0;
  std::atomic<bool> is_clock_off_ = false;   ///< Whether the text is there: asked at each proposal.
  std::atomic<bool> is_group_short_ = false; ///< The same.
  std::function<void()> on_awaited_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  view_ptr view_;
  log_standing log_;
  std::optional<std::uint64_t> begun_;
  std::string clock_fault_;
  std::string room_fault_;
};

/// The texts that askers see.
problem disk_full_problem(const std::string& why);
/// Only essential proposals are taken: `whose` disks have no more room than what is kept for them.
problem disk_low_problem(const std::string& whose);
problem unknown_outcome(const std::string& why);

} // namespace assay::store
