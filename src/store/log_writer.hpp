#pragma once
// The thread that owns consensus and the log: seals what waits into one batch, steps the core,
// stores what it says in one synced transaction, and hands what was committed to the applier.
//
// Everything that waits while one batch is being synced forms the next: group commit. A batch that
// does not fit on the disk is refused before the core hears of it; should its write still find the
// disk full, it waits and is written when there is room. No failed write is ever reported to the
// core.

#include "src/consensus/core.hpp"
#include "src/store/applier.hpp"
#include "src/store/clock_watch.hpp"

#include <map>

namespace assay::store {

class log_writer {
public:
  log_writer(
    engine_shared& shared,
    log_store& log,
    state_machine& machine,
    applier& next,
    std::unique_ptr<consensus::core> core
  );
  ~log_writer();

  /// `applied` is what the state environment holds; entries up to it are not handed over again.
  void start(log_store::contents disk, std::uint64_t applied);
  void propose(proposal what, ledger_engine::answered done);
  void read(ledger_engine::viewed done);
  void trust_clock();
  /// Refuses what waits and ends the thread.
  void stop();

private:
  struct waiting_proposal {
    proposal what;
    ledger_engine::answered done;
  };
  struct work {
    std::vector<waiting_proposal> proposals;
    std::vector<ledger_engine::viewed> readers;
    bool is_clock_accepted = false;
  };
  /// Submitted and not committed yet.
  struct in_flight {
    std::vector<ledger_engine::answered> askers;
    std::vector<ledger_engine::viewed> readers;
  };

  void run(log_store::contents disk);
  work take();
  std::chrono::steady_clock::time_point wake_up() const;
  void watch_clock(bool is_accepted);

  void retry_room();
  void submit(work& what);
  std::optional<problem> refusal_for(const waiting_proposal& one) const;
  std::optional<problem> refusal_for_all(std::uint64_t bytes);
  void drop_refused(std::vector<waiting_proposal>& proposals);
  consensus::entry seal(std::vector<waiting_proposal>& proposals);
  void read_now(std::vector<ledger_engine::viewed> readers);
  void submit_entry(consensus::entry entry, in_flight who);

  void step(consensus::event what);
  void carry_out(consensus::updates what);
  bool save();
  void remember(const consensus::append& what);
  void hand_over();
  void compact();
  void report();

  engine_shared& shared_;
  log_store& log_;
  state_machine& machine_;
  applier& next_;

  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<waiting_proposal> proposals_;
  std::vector<ledger_engine::viewed> readers_;
  bool is_clock_accepted_ = false;
  bool is_stopping_ = false;

  // Only the thread itself touches what follows.
  std::unique_ptr<consensus::core> core_;
  clock_watch clock_;
  wall_ms last_stamp_;
  consensus::updates unsaved_; ///< Not on disk yet; while there is any, nothing is submitted.
  std::map<std::uint64_t, consensus::entry> cache_; ///< Stored or to be stored, not handed over.
  std::map<std::uint64_t, in_flight> in_flight_;
  std::map<std::uint64_t, consensus::configuration> members_; ///< By the index that set them.
  std::uint64_t first_ = 1;                                   ///< Of the log on disk.
  std::uint64_t snapshot_ = 0;                                ///< Of the last compaction.
  std::uint64_t committed_ = 0; ///< What is on disk here and committed.
  std::uint64_t handed_ = 0;
  std::uint64_t replayed_ = 0; ///< What the log held at the start: sealed batches come later.

  std::thread thread_;
};

} // namespace assay::store
