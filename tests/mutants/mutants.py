"""The mistakes that the tests must notice: one edit of one source each, with what it would cost.

They concern consensus, applying and acknowledging. `old` must stand in the file exactly once; when it no longer does,
the list has fallen behind the code and the run says so. `dies_in` are the programs that are run, with their cases, until
one fails: those of the simulation first, for they drive the same participant and the same state machine as the product.
"""

from dataclasses import dataclass

SEEDS = ("test_simulation", "a cluster keeps every promise*")
ENGINE = ("test_store", "~[.]")  # Hidden cases are children of others.


@dataclass(frozen=True)
class Mutant:
    name: str
    reason: str
    file: str
    old: str
    new: str
    dies_in: tuple = (SEEDS,)


LIST = [
    # -- acknowledge before sync
    Mutant(
        "acknowledge-before-sync",
        "a proposal is applied and answered before this disk has it: a restart meets a state ahead of its log",
        "src/consensus/participant_log.cpp",
        "const auto limit = std::min(core_->commit_index(), durable_);",
        "const auto limit = core_->commit_index();",
        (("test_consensus", "~[.]"), SEEDS),
    ),
    Mutant(
        "report-before-sync",
        "a follower's answer claims all that it has in memory as soon as anything is synced",
        "src/consensus/core.cpp",
        "event.persisted_entries.index = e.index;",
        "event.persisted_entries.index = raft_last_index(&l.raft);",
    ),
    Mutant(
        "answer-when-written-on",
        "a full disk counts as written: what was not stored is reported as stored",
        "src/store/log_writer_rounds.cpp",
        "  if (failed)\n    member_->disk_full();\n  else\n    member_->wrote(now_ms());",
        "  member_->wrote(now_ms());",
        (ENGINE,),
    ),
    # -- save applied_index first
    Mutant(
        "applied-index-without-rows",
        "the applied index is saved and its rows are not: after a crash the state has holes",
        "src/store/state_store.cpp",
        "code = value ? put(txn, into, key, *value) : remove(txn, into, key);",
        "code = value ? 0 : remove(txn, into, key);",
        (ENGINE,),
    ),
    Mutant(
        "applied-index-ahead",
        "the state says that it holds one entry more than it does: that one is never applied",
        "src/store/state_store.cpp",
        "return put_applied(txn, environment_->dbi(meta_db), index, term);",
        "return put_applied(txn, environment_->dbi(meta_db), index + 1, term);",
        (ENGINE,),
    ),
    # -- skip vote persistence
    Mutant(
        "vote-not-stored",
        "term and vote never reach the disk: who restarts votes twice in one term",
        "src/consensus/participant_log.cpp",
        "writing_ = std::make_shared<const log_write>(std::exchange(unsaved_, {}));",
        "unsaved_.hard.reset();\n      writing_ = std::make_shared<const log_write>(std::exchange(unsaved_, {}));",
        (SEEDS, ("test_consensus", "~[.]")),
    ),
    Mutant(
        "vote-leaves-early",
        "a vote leaves before it is durable",
        "src/consensus/participant_log.cpp",
        "if (held_.front().needs > hard_saved_ && how_.core.guards.holds_messages)",
        "if (held_.front().needs > hard_wanted_)",
        (SEEDS, ("test_simulation", "votes that leave*"), ("test_consensus", "~[.]")),
    ),
    # -- compact before the state commit
    Mutant(
        "compact-before-state-commit",
        "the log forgets entries whose rows are not on disk yet: nobody can apply them again",
        "src/consensus/participant_log.cpp",
        "reached = std::min(reached, state_durable_);",
        "reached = std::min(reached, handed_);",
        (("test_consensus", "~[.]"), SEEDS),
    ),
    Mutant(
        "log-replaced-before-state",
        "a fetched mark replaces the log before its state is there: nobody fills the gap",
        "src/consensus/participant_log.cpp",
        "} else if (fetching_ && state_durable_ >= fetching_->index)",
        "} else if (fetching_)",
    ),
    # -- what else a promise hangs on
    Mutant(
        "record-id-forgotten",
        "a record that is asked for again is taken again",
        "src/ledger/apply.cpp",
        "if (auto first = ids_.find(r.record_id)) {",
        "if (auto first = std::optional<record_id_row>{}; first) {",
    ),
    Mutant(
        "stale-commit-index",
        "the commit index goes back with the library's: what was handed over is handed over again, or never",
        "src/consensus/core_updates.cpp",
        "if (reached <= commit && how.guards.keeps_commit)",
        "if (reached == commit)",
    ),
    Mutant(
        "conflict-kept-in-memory",
        "entries that another leader overwrote stay in memory and are sent on as ours",
        "src/consensus/participant_log.cpp",
        "while (!tail_.empty() && tail_first_ + tail_.size() > index) {",
        "while (!tail_.empty() && tail_first_ > index) {",
    ),
    Mutant(
        "overwritten-entries-reported",
        "entries of another leader that were overwritten while they were written count as stored",
        "src/consensus/participant_log.cpp",
        "failed = note_appends(std::min(last_of(done.appends.back()), still_ours_), now_ms);",
        "failed = note_appends(last_of(done.appends.back()), now_ms);",
        (("test_consensus", "~[.]"),),
    ),
]
