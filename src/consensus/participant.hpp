#pragma once
// One member of the group with its promises: events in, and out of it what to write, what to send
// and what to apply, in the order that keeps them. It decides everything that is not the library's:
// what waits for the disk, what a proposal's fate is, when the log may forget, who may become a
// voter, and when leadership may go.
//
// Promises. No message leaves before the term and vote it speaks for are durable; nothing is handed
// over for applying before it is committed and durable here; one write at a time, in order. It
// reads no clock, disk or socket: the driver carries out `take()` and reports. One thread owns it.

#include "src/consensus/core.hpp"
#include "src/consensus/membership.hpp"

#include <deque>
#include <map>

namespace assay::consensus {

/// Entries that are durable and no longer in memory.
class stored_log {
public:
  virtual ~stored_log() = default;
  virtual std::optional<entry> at(std::uint64_t index) const = 0;
};

/// What the log environment holds at the start. Only changes need their bytes.
struct log_contents {
  hard_state hard;
  std::optional<snapshot_mark> snapshot;
  std::uint64_t first_index = 1;
  std::vector<entry> entries;
};

struct compaction {
  snapshot_mark mark;
  std::uint64_t first_kept = 1;
};

/// One synced transaction of the log environment.
struct log_write {
  std::optional<hard_state> hard;
  std::vector<append> appends;
  std::optional<compaction> forget;         ///< Comes alone.
  std::optional<snapshot_mark> replaced_by; ///< Comes alone: the whole log goes, the mark stays.
};

/// `ticket` is what `propose` gave; 0 for what others proposed.
struct committed_entry {
  std::uint64_t index = 0;
  std::uint64_t term = 0;
  std::optional<entry> what; ///< Nothing: the log has it.
  std::uint64_t ticket = 0;
};

struct outputs {
  /// None, or: then `wrote`, `disk_full` or, for any other error, `broke`.
  std::shared_ptr<const log_write> write;
  std::vector<message> messages;          ///< May leave now.
  std::vector<committed_entry> committed; ///< To be applied, in order, each once per run.
  std::vector<std::uint64_t> lost; ///< Tickets whose outcome is unknown: they may still commit.
  /// Fetch the state of any member that has applied this, make it durable, then `fetched`. When it
  /// cannot be had, start again from disk.
  std::optional<snapshot_mark> fetch;
};

struct participant_settings {
  settings core;
  std::uint64_t trailing = 1'024; ///< Applied entries that stay in the log.
  /// Of recent entries in memory; 0: none behind what is handed over.
  std::size_t tail_bytes = 16 << 20;
  std::size_t message_bytes = 1 << 20; ///< Of entries in one message, unless one is larger.
};

class participant {
public:
  static result<std::unique_ptr<participant>, problem>
  make(const participant_settings& how, const stored_log& stored);

  /// `applied` is what the state environment holds: never less than the snapshot's index. A sole
  /// voter leads at once, in a term of its own.
  std::optional<refusal> start(log_contents disk, std::uint64_t applied, std::uint64_t now_ms);

  // -- what happens. `stopped` means: send nothing more, close, and see `ended`.
  std::optional<refusal> receive(message what, std::uint64_t now_ms);
  std::optional<refusal> tick(std::uint64_t now_ms);
  /// When `tick` is due.
  std::uint64_t wake_up_ms() const;

  // -- what the driver did
  void wrote(std::uint64_t now_ms);
  /// Until the same write succeeds proposals are refused; `retry_write` lets `take` give it again.
  void disk_full();
  void retry_write();
  /// A write failed otherwise: its fate is unknown, and the next sync would lie. The end.
  void broke(std::string why);
  void fetched(std::uint64_t applied);
  /// The state is damaged, and another member's is to take its place: until `mended` nothing is
  /// handed over, and all else goes on. Refused to a leader, without one, and while a state is
  /// fetched anyway.
  std::optional<refusal> begin_mending();
  /// The state is now the one as of `applied`, no older than what was handed over; 0: it stays as
  /// it was.
  void mended(std::uint64_t applied);
  /// The state environment holds everything up to `index`.
  void state_is_durable(std::uint64_t index) { state_durable_ = index; }

  // -- what people want
  /// One ticket for all of them: the last one's index.
  result<std::uint64_t, refusal> propose(std::vector<entry> what, std::uint64_t now_ms);
  /// When its ticket is handed over, everything acknowledged before this call is applied. Serves
  /// any number of readers.
  result<std::uint64_t, refusal> barrier(std::uint64_t now_ms);
  std::optional<refusal> change(const membership_change& how, std::uint64_t now_ms);
  std::optional<refusal> transfer(std::uint64_t to, std::uint64_t now_ms);

  outputs take();

  // -- what is
  bool is_leader() const { return core_->is_leader(); }
  std::uint64_t term() const { return core_->term(); }
  std::uint64_t leader() const { return core_->leader(); }
  std::uint64_t last_index() const { return core_->last_index(); }
  std::uint64_t commit_index() const { return core_->commit_index(); }
  std::uint64_t first_index() const { return first_; }
  std::uint64_t durable_index() const { return durable_; }
  std::uint64_t handed_over() const { return handed_; }
  /// The entry that settled everything older when we began to lead. What is sealed before it is
  /// handed over may be stamped too early.
  std::uint64_t first_of_term() const { return first_of_term_; }
  bool is_fetching() const { return fetching_.has_value(); }
  bool is_mending() const { return is_mending_; }
  bool is_disk_full() const { return is_full_; }
  const configuration& members() const { return core_->members(); }
  std::optional<std::uint64_t> match_index(std::uint64_t member) const {
    return core_->match_index(member);
  }
  /// On a leader: whether the newest change is committed and whoever got a vote by it has stored
  /// it. Before that the group cannot afford to lose anybody.
  bool is_membership_settled() const;
  /// On a leader: who got a vote by the newest change and has not stored it; 0: nobody.
  std::uint64_t newcomer() const;
  std::string_view dropped() const { return core_->dropped(); }
  /// Why it must not go on; empty while it may.
  const std::string& ended() const { return ended_; }
  /// Why the last promotion came to nothing; empty when it did not.
  std::string_view promotion_problem() const { return promotion_problem_; }

private:
  struct held_message {
    message what;
    std::uint64_t needs = 0; ///< How many changes of term or vote must be durable.
  };
  struct handover {
    std::uint64_t to = 0;
    std::uint64_t until_ms = 0;
    bool has_begun = false;
  };

  participant(const participant_settings& how, const stored_log& stored);

  bool is_sole_voter() const;
  std::optional<refusal> step(event what, std::uint64_t now_ms);
  void absorb(updates what, std::uint64_t now_ms);
  void remember(append what);
  void forget_from(std::uint64_t index);
  void begin_fetch(snapshot_mark mark);
  void hold(message what);
  bool fill(message& what) const;
  bool fill_entries(append_entries& probe) const;
  std::uint64_t term_at(std::uint64_t index) const;
  std::optional<entry> entry_at(std::uint64_t index) const;
  std::vector<message> parts_of(message whole) const;
  void role_changed(std::uint64_t now_ms);
  void advance(std::uint64_t now_ms);
  void advance_handover(std::uint64_t now_ms);
  void advance_promotion(std::uint64_t now_ms);
  std::uint64_t most_level_voter() const;
  std::optional<refusal> submit_change(const configuration& members, std::uint64_t now_ms);
  std::optional<refusal> refusal_now() const;
  bool is_settled(const configuration& next) const;
  result<std::uint64_t, refusal> submit(std::vector<entry> what, std::uint64_t now_ms);

  void next_write(outputs& into);
  std::optional<compaction> next_compaction() const;
  void release(outputs& into);
  void hand_over(outputs& into);
  entry pop_tail();
  void trim_tail();
  std::optional<refusal> note_appends(std::uint64_t reached, std::uint64_t now_ms);
  std::optional<refusal> note_compaction(const compaction& done, std::uint64_t now_ms);
  std::optional<refusal> note_replacement(std::uint64_t now_ms);

  const participant_settings how_;
  const stored_log& stored_;
  std::unique_ptr<core> core_;
  std::uint64_t now_ms_ = 0;
  std::uint64_t sequence_ = 0;

  // -- the log as we know it
  std::uint64_t first_ = 1;         ///< On disk and in the library.
  std::deque<std::uint64_t> terms_; ///< Of every entry from `first_` on.
  std::uint64_t tail_first_ = 1;    ///< Entries from here on are in memory.
  std::deque<entry> tail_;
  std::size_t tail_bytes_ = 0;
  std::optional<snapshot_mark> snapshot_;          ///< On disk.
  std::map<std::uint64_t, configuration> members_; ///< By the index that set them.

  // -- the disk
  log_write unsaved_;
  std::shared_ptr<const log_write> writing_; ///< Large: its entries are copied once, not thrice.
  bool is_handed_out_ = false;               ///< `writing_` is with the driver.
  bool is_full_ = false;
  std::uint64_t durable_ = 0;      ///< What the disk holds of the log as it is now.
  std::uint64_t still_ours_ = 0;   ///< Of `writing_`: entries above it were overwritten meanwhile.
  std::uint64_t hard_wanted_ = 0;  ///< Counts changes of term or vote,
  std::uint64_t hard_writing_ = 0; ///< those that `writing_` covers,
  std::uint64_t hard_saved_ = 0;   ///< and those on disk.
  std::uint64_t state_durable_ = 0;
  std::deque<held_message> held_;
  std::string ended_;

  // -- the fate of things
  std::uint64_t handed_ = 0;
  std::uint64_t first_of_term_ = 0;
  std::map<std::uint64_t, std::uint64_t> tickets_; ///< Index to the term it was proposed in.
  std::vector<std::uint64_t> lost_;
  std::optional<snapshot_mark> fetching_;
  bool is_fetch_told_ = false;
  bool is_mending_ = false;
  std::optional<handover> handover_;
  std::optional<std::uint64_t> promotion_;
  std::string_view promotion_problem_;
};

} // namespace assay::consensus
