#pragma once
// The ledger's engine: proposals in, receipts and immutable views out, everything durable between.
//
//   propose -> waiting -> LOG WRITER: seal the batch, participant, one synced log transaction
//                             | committed entries
//                         APPLIER: machine.apply -> answers; rows gather in a set
//                             | every 10 to 100 ms, 256 entries or a barrier
//                         STATE WRITER: rows + applied index -> one transaction
//                             | done
//                         APPLIER: view published to `on_view`
//
// An answer means: the log entry is durable on a quorum and applied. It does not mean that a
// published view shows it yet; who needs that asks through `read_barrier`. A full disk refuses
// proposals and goes on reading; the rows that could not be written are written when there is room.
// The last of its room is taken in advance and kept for essential proposals (docs/decisions/0022).
// Any other error of a commit ends the process: after a failed fsync the next one falsely succeeds,
// so nothing is retried.
//
// The engine owns these three threads and no CAF; with peers a fourth one reads our state for
// members that are too far behind. It never stamps two batches with the same time, never
// reports a write to raft that did not reach the disk, and never drops log entries that the state
// on disk does not contain.

#include "src/consensus/membership.hpp"
#include "src/store/data_directory.hpp"
#include "src/store/environment.hpp"
#include "src/store/peers.hpp"
#include "src/store/rows.hpp"
#include "src/store/state_machine.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace assay::store {

/// One committed state. Its content never changes; holding it pins memory and no transaction.
struct view {
  std::uint64_t index = 0; ///< Applied raft index.
  std::uint64_t term = 0;
  std::uint64_t seq = 0;              ///< Of the last record.
  wall_ms stamped_at;                 ///< Of the last batch.
  std::shared_ptr<const void> tables; ///< What `state_machine::share` gave; see `tables_of`.
};
using view_ptr = std::shared_ptr<const view>;

struct proposal {
  std::string bytes;           ///< At most `limits::proposal_bytes`.
  bool is_time_driven = false; ///< `expire` and its kin: refused while the clock is not trusted.
};

/// A log entry, and the state as of it.
struct moment {
  std::uint64_t index = 0;
  std::uint64_t term = 0;
};
using row_taker = std::function<result<void, problem>(const std::vector<stored_row>&)>;

enum class commit_point : std::uint8_t { log, state };

/// What the process exits with after a disk error (EX_IOERR of sysexits.h).
inline constexpr int disk_error_exit = 74;

/// Clocks, faults and the end of the process are handed in, so that tests own them.
struct engine_options {
  std::uint64_t server_id = 1;
  std::string address = "local"; ///< Where peers reach it, as members' lists show it.
  peer_sender* peers = nullptr;  ///< Outlives the engine; a group of one has none.
  std::chrono::milliseconds election_timeout{800}; ///< A leader unheard of for so long is gone.
  std::chrono::milliseconds heartbeat{100};
  std::uint64_t map_bytes = 0;           ///< Address space per environment; 0: `limits::map_bytes`.
  std::uint32_t trailing = 0;            ///< Applied log entries kept; 0: `limits::log_trailing`.
  std::function<void(view_ptr)> on_view; ///< APPLIER thread, first with the loaded state; short.
  std::function<wall_ms()> wall;         ///< Empty: the system's clock.
  std::function<std::chrono::milliseconds()> boot;      ///< Empty: CLOCK_BOOTTIME.
  std::function<void(const std::string&)> stop_process; ///< Empty: logs and exits at once.
  std::function<int(commit_point)> fault; ///< Tests: an errno that the commit reports, or 0.
  /// Tests: whether the disk has room for a file of so many bytes.
  std::function<bool(commit_point, std::uint64_t)> room;
};

struct engine_status {
  std::uint64_t server_id = 0;
  std::uint64_t term = 0;
  std::uint64_t commit_index = 0;
  std::uint64_t applied_index = 0;
  std::uint64_t durable_index = 0; ///< Applied, and on disk in the state environment.
  std::uint64_t first_index = 0;   ///< Of the log.
  std::uint64_t last_index = 0;
  std::uint64_t seq = 0;
  std::uint64_t waiting = 0;   ///< Proposals not answered yet.
  std::uint64_t leader_id = 0; ///< 0: nobody is known to lead.
  bool is_leader = false;
  std::optional<consensus::member_role> role; ///< Nothing: the group does not name it (yet).
  consensus::configuration members;           ///< As of the newest change, committed or not.
  /// On the leader: the newest change is committed, and whoever got a vote by it has stored it.
  bool is_membership_settled = false;
  /// On a leader: who has a vote by the newest change and has not stored that yet; 0: nobody.
  std::uint64_t awaited_member = 0;
  std::string promotion_problem; ///< Why the last promotion came to nothing; empty when it did not.
  bool is_fetching = false;      ///< Another member's state comes in.
  std::uint64_t taken_over = 0;  ///< How many such states took the place of ours, in this run.
  bool is_disk_full = false;     ///< Only what undoes is taken, if anything.
  std::string room_fault;        ///< As `tell_room_fault` said.
  bool is_clock_trusted = true;
  std::string clock_text;  ///< What jumped and what to do; empty while trusted.
  std::string clock_fault; ///< As `tell_clock_fault` said.
  /// How long a synced write of the log takes of late; 0 while little is written.
  std::chrono::milliseconds sync{0};
  std::uint32_t log_map_percent = 0;
  std::uint32_t state_map_percent = 0;
};

/// Reads of the ledger's files that are open, in any process.
struct open_reads {
  std::vector<open_reader> all;
  std::uint64_t oldest_lag = 0; ///< Transactions since the oldest one of the state began.
};

class ledger_engine {
public:
  using answered = std::function<void(answer)>;
  using viewed = std::function<void(result<view_ptr, problem>)>;
  using decided = std::function<void(result<void, problem>)>;

  /// Makes the first state of a cluster of one. Refused if there is any state.
  static result<void, problem>
  bootstrap(const data_directory& directory, const engine_options& options = {});
  /// Makes a directory that holds an identity and nothing else: its engine waits for a leader to
  /// name it. Refused if there is any state.
  static result<void, problem>
  prepare_to_join(const data_directory& directory, const engine_options& options);

  /// Whether the directory is as `prepare_to_join` left it: it has an identity and nothing else.
  static bool is_prepared_to_join(const data_directory& directory);
  static bool is_bootstrapped(const data_directory& directory);
  /// What tells this directory from every other one, made with its first state.
  static result<std::string, problem> disk_of(const data_directory& directory);

  /// Loads the state and starts the threads. When this returns `status` knows the group; a sole
  /// voter leads and its whole log is applied, unless the disk is full. Of several, a leader has to
  /// say what of the log is committed. The directory must outlive the engine.
  static result<std::unique_ptr<ledger_engine>, problem> open(
    const data_directory& directory,
    std::unique_ptr<state_machine> machine,
    engine_options options = {}
  );

  /// Stops its threads. What was answered is durable; what still waits is answered `unavailable`.
  ~ledger_engine();
  ledger_engine(const ledger_engine&) = delete;
  ledger_engine& operator=(const ledger_engine&) = delete;

  /// Any thread; never waits for the disk. `done` is called exactly once, on an engine thread, or
  /// by this call when the proposal is refused at the door (too large, too many waiting, closing);
  /// it must be short. `exhausted` and `refused` mean that nothing changed. `unavailable` with
  /// "outcome unknown" means that it may have: propose the same record id again.
  void propose(proposal what, answered done);

  /// A linearizable read: the view holds everything that was answered before this call. Any thread.
  void read_barrier(viewed done);

  /// From a peer, whose key showed that it is coordinator `what.from`. Any thread; never waits, and
  /// drops what it has no room for.
  void receive(consensus::message what);
  void receive(state_request what);
  void receive(state_page what);

  /// One change of the group at a time, on the leader. `done` is called once, on an engine thread:
  /// the change is taken (`status` tells when it is settled, or why a promotion came to nothing),
  /// or refused and nothing changed.
  void change(consensus::membership_change how, decided done);
  /// Another voter should lead; 0: whoever is most level. `done` as above: proposals are refused
  /// until it does, or until it had an election timeout's time.
  void transfer(std::uint64_t to, decided done);
  /// Our state is damaged and our log is not: the leader's state is to take its place, while we go
  /// on as a member. `done` as above; `status().taken_over` counts when it did. When the leader
  /// changes meanwhile the old state stays, and it is to be asked for again.
  void mend(decided done);

  /// The newest committed view. Any thread.
  view_ptr current() const;

  engine_status status() const;

  /// Looks into LMDB's tables, so not for every moment. Any thread.
  open_reads readers() const;

  /// A person has looked at the clock: time-driven proposals are taken again.
  void trust_clock();

  /// The others' clocks say that ours is off, and by how much; empty: they do not. Until then
  /// nothing is proposed here, because nothing may be stamped. Any thread.
  void tell_clock_fault(const std::string& text);

  /// Too few voters have room on their disks, in words that name them; empty: enough have. Until
  /// then only essential proposals are taken here. Any thread.
  void tell_room_fault(const std::string& text);

  /// Committed rows, straight from disk. Any thread.
  result<std::optional<std::string>, problem> read_row(std::string_view key) const;
  result<std::vector<stored_row>, problem> read_rows(const row_scan& what) const;
  /// All rows as they are on disk at one moment, in the order of keys. Any thread.
  result<moment, problem> read_moment(const row_taker& take) const;

private:
  struct parts;
  explicit ledger_engine(std::unique_ptr<parts> all);
  std::unique_ptr<parts> parts_;
};

} // namespace assay::store
