#pragma once
// The thread that owns consensus and the log: seals what waits into one batch, asks the
// participant, and carries out what it says. It sends, hands over to the applier, and stores in one
// synced transaction at a time, in this order, so that peers work while our disk does.
//
// Everything that waits while one batch is being synced forms the next: group commit. A batch that
// does not fit on the disk is refused before consensus hears of it; should its write still find the
// disk full, it waits and is written when there is room. No failed write is ever reported as done.
//
// Room for essential records is taken from the disk in advance. While part of it is missing, here
// or with too many of the others, nothing else enters a batch.

#include "src/store/applier.hpp"
#include "src/store/clock_watch.hpp"
#include "src/store/gathering.hpp"
#include "src/store/log_inbox.hpp"
#include "src/store/sync_watch.hpp"

#include <map>

namespace assay::store {

class log_writer {
public:
  log_writer(
    engine_shared& shared,
    log_store& log,
    state_machine& machine,
    applier& next,
    std::unique_ptr<consensus::participant> member
  );
  ~log_writer();

  /// `applied` is what the state environment holds; entries up to it are not handed over again.
  void start(log_store::contents disk, std::uint64_t applied);

  // -- from any thread
  void propose(proposal what, ledger_engine::answered done);
  void read(ledger_engine::viewed done);
  void order(store::order what);
  void receive(consensus::message what) { inbox_.put(std::move(what)); }
  void receive(state_page what) { inbox_.put(std::move(what)); }
  void trust_clock() { inbox_.accept_clock(); }
  /// Looks again at what others have done: the applier reached what was awaited.
  void nudge() { inbox_.nudge(); }
  /// Refuses what waits and ends the thread.
  void stop();

private:
  /// Proposed and not handed over yet.
  struct in_flight {
    std::vector<ledger_engine::answered> askers;
    std::vector<ledger_engine::viewed> readers;
    std::chrono::steady_clock::time_point since;
  };

  void run(log_store::contents disk, std::uint64_t applied);
  void begin(log_store::contents disk, std::uint64_t applied);
  void round(log_inbox::contents what);
  std::size_t least_to_seal();
  std::chrono::steady_clock::time_point wake_up() const;
  void watch_clock(bool is_accepted);
  void turn_everybody_away();

  // -- asking the participant
  void receive_all(std::vector<consensus::message> messages);
  void obey(store::order what);
  void submit(std::vector<waiting_proposal> proposals);
  void drop_refused(std::vector<waiting_proposal>& proposals);
  std::uint32_t map_percent() const;
  std::optional<problem> refusal_for_all();
  std::optional<problem> refusal_for_ordinary(std::uint64_t bytes);
  consensus::entry seal(std::vector<waiting_proposal>& proposals);
  void read_now(std::vector<ledger_engine::viewed> readers);
  void begin_barrier();
  problem why(consensus::refusal refused) const;

  // -- carrying out what it says
  void pump();
  bool carry_out(consensus::outputs what);
  bool write(const consensus::log_write& what);
  std::optional<write_failure> store(const consensus::log_write& what);
  void hand_over(consensus::committed_entry what);
  void gather_after(const in_flight& done);
  void answer_unknown(std::uint64_t ticket);
  void retry_room();
  void keep_room();
  void report();

  // -- when the log cannot bring this member up to date, or its state is damaged
  void begin_fetch(consensus::snapshot_mark mark);
  std::optional<consensus::refusal> begin_mending();
  void mend_under_its_leader();
  void give_up_mending(std::string_view why);
  void take_page(state_page page);
  void page_was_stored(const page_fate& what);
  void ask_for_state();

  engine_shared& shared_;
  log_store& log_;
  state_machine& machine_;
  applier& next_;

  log_inbox inbox_;

  // Only the thread itself touches what follows.
  std::unique_ptr<consensus::participant> member_;
  clock_watch clock_;
  sync_watch syncs_;
  wall_ms last_stamp_;
  std::map<std::uint64_t, in_flight> in_flight_;    ///< By ticket.
  std::vector<ledger_engine::viewed> next_readers_; ///< For the barrier after the one under way.
  gathering next_batch_;
  std::chrono::steady_clock::time_point next_room_look_;
  std::uint64_t barrier_ = 0; ///< Its ticket; 0: none is under way.
  engine_shared::log_standing standing_;
  std::optional<state_fetch> fetch_;
  std::uint64_t fetches_ = 0;
  std::uint64_t mended_by_ = 0;    ///< Who gives the state that is to take the place of ours.
  bool is_page_under_way_ = false; ///< With the applier.
  std::uint64_t taken_over_ = 0;   ///< States of other members, in this run.
  std::uint64_t run_ = 0;

  std::thread thread_;
};

} // namespace assay::store
