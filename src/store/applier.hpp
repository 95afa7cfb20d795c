#pragma once
// The thread that owns the tables: applies committed entries in order and answers their askers.
//
// Rows gather in an open set, which is closed after a while and then committed by the state writer,
// with the index up to which they are applied, while the next set gathers. One set is on its way at
// a time. So nobody waits for the state's disk but readers, and a transaction lost to a full disk
// loses nothing: its set is written again, and a restart applies its entries again from the log.

#include "src/store/engine_shared.hpp"
#include "src/store/log_store.hpp"
#include "src/store/state_fetch.hpp"
#include "src/store/state_store.hpp"
#include "src/store/state_writer.hpp"

#include <deque>
#include <thread>

namespace assay::store {

/// One committed entry with those who wait for it, or only readers behind everything before.
struct committed {
  std::uint64_t index = 0;               ///< 0: only readers.
  std::optional<consensus::entry> entry; ///< Nothing: the log has it.
  std::vector<ledger_engine::answered> askers;
  std::vector<ledger_engine::viewed> readers;
};

/// APPLIER thread: whether the page is in the state environment, and with its last one the state
/// in force.
using page_stored = std::function<void(bool is_stored)>;

/// How long rows gather after a commit that took so long: one part in 64 of the disk's time goes
/// into commits of the state, because the log wants the same disk; between 10 and 100 ms.
std::chrono::steady_clock::duration commit_pause(std::chrono::steady_clock::duration last_commit);

class applier {
public:
  applier(engine_shared& shared, state_store& state, const log_store& log, state_machine& machine);
  ~applier();

  /// `applied` is what the state environment holds.
  void start(const state_store::mark& applied);
  void push(committed what);
  /// A page of another member's state. Behind everything pushed before, and nothing else is pushed
  /// until its `done` was called for the last one.
  void push(incoming_page what, page_stored done);
  /// Applies what was pushed, commits, and ends the thread.
  void stop();

private:
  using time_point = std::chrono::steady_clock::time_point;

  struct arrival {
    incoming_page page;
    page_stored done;
  };
  struct work {
    std::deque<committed> entries;
    std::optional<arrival> page;
    std::optional<state_writer::outcome> written;
  };

  /// What one transaction takes to the state environment.
  struct row_set {
    state_store::row_changes rows;
    std::size_t bytes = 0;
    std::size_t entries = 0;                    ///< Of the log.
    std::vector<ledger_engine::viewed> readers; ///< Who must see these rows.
    view_ptr view;                              ///< As of its last entry, once it is closed.
  };

  void run();
  work take();
  void apply(committed& what);
  void apply_entry(committed& what);
  void abandon(committed& what);
  void answer_askers(committed& what, applied& done);
  void take_in(arrival what);
  std::optional<write_failure> store_incoming(const incoming_page& what);
  void adopt(const incoming_page::moment& end);
  void keep(std::vector<row_change> rows);
  bool is_due(time_point now) const;
  void advance();
  void close();
  void write_closed(time_point now);
  void wait_for_writer();
  void written(state_writer::outcome what);
  void commit_rest();
  void reserve_next();
  bool is_short_of_room() const;
  void serve_readers();
  void refuse_readers(const problem& why);
  view_ptr make_view();

  engine_shared& shared_;
  state_store& state_;
  const log_store& log_;
  state_machine& machine_;

  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<committed> queue_;
  std::optional<arrival> arrived_;
  std::optional<state_writer::outcome> outcome_;
  bool is_stopping_ = false;

  // Only the thread itself touches what follows.
  std::uint64_t index_ = 0;
  std::uint64_t term_ = 0;
  row_set open_;
  std::optional<row_set> closed_; ///< On its way to disk, or waiting for room there.
  bool is_writing_ = false;       ///< The state writer has the closed set.
  time_point due_;                ///< When the open set is to be closed.
  time_point retry_at_;           ///< When the closed one is to be written again.
  time_point::duration pause_ = commit_pause({});

  state_writer writer_;
  std::thread thread_;
};

} // namespace assay::store
