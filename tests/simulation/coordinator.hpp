#pragma once
// A coordinator as one process: the participant, the ledger that really applies, and a disk that
// takes its time. It does what the log writer and the applier do, in one thread and virtual time.
//
// A crash leaves what was synced; a transaction under way is there whole or not at all.

#include "src/store/state_machine.hpp"
#include "tests/simulation/chance.hpp"
#include "tests/simulation/disk.hpp"
#include "tests/simulation/interruptions.hpp"
#include "tests/simulation/oracle.hpp"
#include "tests/simulation/profile.hpp"
#include "tests/simulation/timeline.hpp"

#include <functional>
#include <memory>
#include <set>

namespace assay::simulation {

// -- what goes over the bulk lane ---------------------------------------------------------------

/// A page of records from `from_seq` on, or, when there are no more, everything else.
struct fetch_request {
  std::uint64_t attempt = 0;
  std::uint64_t at_least = 0; ///< The source must have applied this.
  std::uint64_t from_seq = 1;
};
struct fetch_reply {
  std::uint64_t attempt = 0;
  bool is_too_old = false;
  bool is_last = false;
  std::uint64_t next_seq = 1;
  row_changes rows;
  std::uint64_t applied = 0, term = 0, root = 0; ///< With the last page.
};

using parcel = std::variant<consensus::message, fetch_request, fetch_reply>;

/// How a question ends. Without a receipt it was refused, or nobody knows.
struct reply {
  std::optional<store::receipt> receipt;
  bool is_unknown = false;
  std::string refusal;
};

struct asker {
  std::string proposal;
  std::function<void(reply)> tell;
};
struct reader {
  /// The seq that the reader saw; nothing when it was turned away.
  std::function<void(std::optional<std::uint64_t>)> tell;
};

/// What a coordinator touches besides its disk.
struct surroundings {
  timeline& time;
  chance& luck;
  oracle& judge;
  const profile& how;
  std::function<void(std::uint64_t from, std::uint64_t to, parcel)> send;
  /// The process ended by itself; somebody starts it again.
  std::function<void(std::uint64_t id)> ended;
  /// A leader takes its entries up to there for stored by that member.
  std::function<void(std::uint64_t id, std::uint64_t of, std::uint64_t up_to)> believes;
  /// The member begins this; something may go wrong now.
  std::function<void(std::uint64_t id, stage what)> begins;
  interruptions suffered{};
};

class coordinator : consensus::stored_log, store::row_lookup {
public:
  coordinator(std::uint64_t id, disk& on, surroundings& in);
  ~coordinator() override;

  void start();
  void crash();
  /// Stopped: nothing happens until `resume`, then everything at once.
  void pause() { is_paused_ = true; }
  void resume();

  void receive(std::uint64_t from, parcel what);
  void propose(asker who);
  void read(reader who);
  std::optional<consensus::refusal> change(const consensus::membership_change& how);
  std::optional<consensus::refusal> transfer(std::uint64_t to);

  std::uint64_t id() const { return id_; }
  bool is_up() const { return participant_ != nullptr; }
  bool is_paused() const { return is_paused_; }
  const consensus::participant& member() const { return *participant_; }
  std::uint64_t applied() const { return applied_; }
  std::uint64_t seq() const;
  const simulation::rows& rows() const { return rows_; }
  std::uint64_t root() const { return root_; }
  std::uint64_t fetches() const { return fetches_; }
  const disk& on_disk() const { return disk_; }

private:
  struct fetch {
    consensus::snapshot_mark mark;
    std::uint64_t attempt = 0;
    std::uint64_t next_seq = 1;
    unsigned tries = 0;
    row_changes rows;
    digest chain;
    bool is_complete = false;
    std::uint64_t applied = 0, term = 0, root = 0;
  };

  std::optional<consensus::entry> at(std::uint64_t index) const override;
  std::optional<std::string> find(std::string_view key) const override;

  void load();
  void pump();
  bool carry_out(consensus::outputs what);
  void check_claim(const consensus::message& what);
  void plan_tick();
  void tick_came(std::uint64_t planned);
  void later(std::uint64_t ms, std::function<void()> what);

  void seal();
  void begin_barrier();
  void answer_unknown(std::uint64_t ticket);
  void turn_everybody_away();

  std::uint64_t sync_ms();
  void begin_write(consensus::log_write what);
  void write_done();
  void answer_early();
  void apply(const consensus::committed_entry& what);
  void keep(std::vector<store::row_change> changes);
  void answer(std::uint64_t ticket, const std::vector<store::answer>& answers);
  void plan_state_write();
  void begin_state_write();
  void state_write_done();

  void begin_fetch(consensus::snapshot_mark mark);
  void ask_for_page();
  void serve(std::uint64_t to, const fetch_request& what);
  void take_page(fetch_reply what);
  bool is_chained(const fetch_reply& page);
  void store_fetched();
  void restart_from_disk();
  void end_process();
  void note_kill();

  const std::uint64_t id_;
  disk& disk_;
  surroundings& in_;
  std::uint64_t run_ = 0; ///< Counts starts: what was planned for an earlier one is void.
  std::unique_ptr<consensus::participant> participant_;
  std::unique_ptr<store::state_machine> machine_;
  bool is_paused_ = false;
  std::vector<std::function<void()>> postponed_;

  // -- like the log writer
  std::optional<consensus::log_write> writing_;
  std::uint64_t tick_at_ = 0;
  std::uint64_t ticked_at_ = 0;
  unsigned ticks_at_once_ = 0;
  std::vector<asker> waiting_;
  std::vector<reader> readers_;
  std::map<std::uint64_t, std::vector<asker>> asked_;
  std::map<std::uint64_t, std::vector<reader>> reading_;
  wall_ms last_stamp_;
  log_environment seen_; ///< The log as the page cache shows it.

  // -- like the applier
  simulation::rows rows_;
  std::uint64_t applied_ = 0;
  std::uint64_t applied_term_ = 0;
  std::uint64_t root_ = 0;
  row_changes dirty_;
  bool is_state_due_ = false;
  std::optional<state_write> state_writing_;

  std::optional<fetch> fetch_;
  std::uint64_t attempts_ = 0;
  std::uint64_t fetches_ = 0;
};

} // namespace assay::simulation
