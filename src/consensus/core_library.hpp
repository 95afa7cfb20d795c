#pragma once
// What stands behind `core`: the library's state machine and what must be remembered beside it. For
// this folder's sources only.
//
// core_events.cpp turns our events into the library's, core_updates.cpp its updates into ours.

#include "src/consensus/core.hpp"
#include "src/consensus/raft_library.hpp"

#include <deque>
#include <map>

namespace assay::consensus {

struct core::library {
  explicit library(const settings& how) : how{how} {}
  ~library() { raft_close(&raft, nullptr); }

  result<updates, refusal> start(started& what);
  result<updates, refusal> receive(message& what);
  result<updates, refusal> submit(submitted& what);
  result<updates, refusal> note_snapshot(snapshot_taken& what);
  result<updates, refusal> note_install();
  result<updates, refusal> run(raft_event event);

  std::optional<refusal> receive_part(message& part, updates& into);
  std::optional<refusal> run_into(raft_event event, updates& into);
  void take(const raft_update& update, updates& into);
  void take_entries(const raft_update& update, updates& into);
  void take_messages(const raft_update& update, updates& into);
  void take_commit(updates& into);
  void remember_change(std::uint64_t index, std::string_view bytes);
  void forget_changes_from(std::uint64_t index);
  situation here() const;

  const settings how;
  // Zeroed: raft_init with no io leaves fields unset. Mutable, for its getters take a non-const
  // pointer.
  mutable ::raft raft{};
  std::uint64_t now = 0;
  std::uint64_t last_timeout = 0;
  std::uint64_t heard_leader = 0; ///< When it last sent entries, a beat or a snapshot.
  std::uint64_t first_index = 1;
  std::uint64_t commit = 0;
  std::uint64_t sequence = 0;
  std::optional<snapshot_mark> snapshot;
  std::optional<raft_snapshot_metadata> installing;
  /// Every configuration since the snapshot's, by the index that set it.
  std::map<std::uint64_t, configuration> changes;
  /// Up to here the library knows that changes are committed. After a restart it knows of none.
  std::uint64_t told = 0;
  configuration members;
  arrival_order order;
  std::deque<raft_event> follow_ups;
  std::string_view dropped;
  bool answers_older_term = false;
};

inline raft_event event_of(raft_event_type type) {
  raft_event out{};
  out.type = type;
  return out;
}

inline bool is_change(const entry& e) {
  return e.kind == entry_kind::change;
}

} // namespace assay::consensus
