#pragma once
// The thread that owns the tables: applies committed entries in order, answers their askers, and
// commits rows and applied index together.
//
// Rows wait in memory until their transaction, which begins and ends at once; the open state
// transaction is the set of rows that wait. So a transaction lost to a full disk loses nothing: the
// rows wait on, and a restart applies them again from the log.

#include "src/store/engine_shared.hpp"
#include "src/store/log_store.hpp"
#include "src/store/state_fetch.hpp"
#include "src/store/state_store.hpp"

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

/// How long rows may wait after a commit that took so long: one part in 64 of the time goes into
/// commits, because nobody is answered meanwhile, between 10 and 100 ms.
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
  void serve_readers();
  bool is_due(time_point now) const;
  void commit();
  void reserve_next();
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
  bool is_stopping_ = false;

  // Only the thread itself touches what follows.
  std::uint64_t index_ = 0;
  std::uint64_t term_ = 0;
  state_store::row_changes rows_; ///< Applied, not in the state environment yet.
  std::size_t rows_bytes_ = 0;
  std::size_t entries_ = 0; ///< Of the open state transaction; 0: none is open.
  time_point due_;
  time_point::duration pause_ = commit_pause({});
  std::vector<ledger_engine::viewed> readers_;

  std::thread thread_;
};

} // namespace assay::store
