#pragma once
// What consensus talks about, as plain values: entries, members, messages, events, updates.
//
// Indexes and terms are Raft's (Ongaro and Ousterhout, "In search of an understandable consensus
// algorithm", 2014). No type of the library appears here; what the library needs beyond the paper
// (versions, features, capacity) is carried along unread.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace assay::consensus {

// -- the log ------------------------------------------------------------------------------------

enum class entry_kind : std::uint8_t { command = 1, barrier = 2, change = 3 };

struct entry {
  std::uint64_t term = 0;
  entry_kind kind = entry_kind::command;
  std::string bytes; ///< For a change: an encoded configuration.

  friend bool operator==(const entry&, const entry&) = default;
};

// -- members ------------------------------------------------------------------------------------

enum class member_role : std::uint8_t { standby, voter, spare };

struct member {
  std::uint64_t id = 0; ///< Never 0; a lost disk means a new id.
  std::string address;
  member_role role = member_role::voter;

  friend bool operator==(const member&, const member&) = default;
};

using configuration = std::vector<member>;

/// What a snapshot says of the log it replaces. The state itself travels out of band.
struct snapshot_mark {
  std::uint64_t index = 0;
  std::uint64_t term = 0; ///< Of the entry at `index`.
  std::uint64_t configuration_index = 0;
  consensus::configuration configuration;

  friend bool operator==(const snapshot_mark&, const snapshot_mark&) = default;
};

struct hard_state {
  std::uint64_t term = 0;
  std::uint64_t vote = 0;

  friend bool operator==(const hard_state&, const hard_state&) = default;
};

// -- messages -----------------------------------------------------------------------------------

struct request_vote {
  std::uint8_t version = 0;
  std::uint64_t term = 0, candidate = 0, last_index = 0, last_term = 0;
  bool disrupts_leader = false, is_pre_vote = false;
};
struct request_vote_result {
  std::uint8_t version = 0;
  std::uint64_t term = 0;
  bool is_granted = false, is_pre_vote = false;
  std::uint16_t features = 0, capacity = 0;
};
/// Outgoing, `entries` is empty: the driver puts in `count` entries from its log behind
/// `previous_index`.
struct append_entries {
  std::uint8_t version = 0;
  std::uint64_t term = 0, previous_index = 0, previous_term = 0, commit = 0;
  std::uint32_t count = 0;
  std::vector<entry> entries;
};
struct append_entries_result {
  std::uint8_t version = 0;
  std::uint64_t term = 0, rejected = 0, last_index = 0;
  std::uint16_t features = 0, capacity = 0;
};
/// Outgoing, only `mark.index` and `mark.term` are set: the driver puts in the rest from its stored
/// snapshot.
struct install_snapshot {
  std::uint8_t version = 0;
  std::uint64_t term = 0;
  snapshot_mark mark;
};
struct timeout_now {
  std::uint8_t version = 0;
  std::uint64_t term = 0, last_index = 0, last_term = 0;
};

using message_body = std::variant<
  request_vote,
  request_vote_result,
  append_entries,
  append_entries_result,
  install_snapshot,
  timeout_now>;

struct message {
  std::uint64_t from = 0, to = 0;
  std::uint64_t run = 0,
                sequence = 0; ///< Number of the sender's run and, within it, of the message.
  message_body body;
};

// -- events and updates -------------------------------------------------------------------------

/// First event, once: everything the disk holds.
struct started {
  hard_state hard;
  std::optional<snapshot_mark> snapshot;
  std::uint64_t first_index = 1; ///< Of the first entry, or of the next one when there is none.
  std::vector<entry> entries;    ///< The bytes of commands and barriers may be left out.
};
/// Only from a coordinator of this cluster, shown by its key; `from` is who it is, not what it
/// says.
struct received {
  consensus::message message;
};
/// Everything up to `index` is durable. Once per batch, never for a write that failed.
struct persisted {
  std::uint64_t index = 0;
};
struct timed_out {};
/// Terms are put in by the core. A change comes alone.
struct submitted {
  std::vector<entry> entries;
};
/// The state at `mark.index` is durable; `trailing` entries before it stay in the log.
struct snapshot_taken {
  snapshot_mark mark;
  std::uint32_t trailing = 0;
};
struct snapshot_installed {};
struct transfer_wanted {
  std::uint64_t to = 0; ///< 0: the library chooses.
};
struct catch_up_wanted {
  std::uint64_t member = 0;
};

using event = std::variant<
  started,
  received,
  persisted,
  timed_out,
  submitted,
  snapshot_taken,
  snapshot_installed,
  transfer_wanted,
  catch_up_wanted>;

/// Entries to store from `index` on; whatever the log holds from there on is truncated first.
struct append {
  std::uint64_t index = 0;
  std::vector<entry> entries;
};

/// What the driver must now do, in this order. `hard` and `appends` may share one transaction;
/// messages leave only when it is durable.
struct updates {
  std::optional<hard_state> hard;
  std::vector<append> appends;
  std::optional<snapshot_mark>
    install; ///< Fetch that state, replace ours and the log, then `snapshot_installed`.
  std::vector<message> messages;
  bool has_role_changed = false;
  std::optional<std::uint64_t> commit; ///< Set when it grew; it never shrinks.
};

/// Why an event changed nothing.
enum class refusal : std::uint8_t {
  not_leader,       ///< Somebody else leads, or leadership is being handed over.
  change_pending,   ///< A membership change or a catch-up is under way.
  change_not_alone, ///< A change was submitted together with other entries.
  malformed,        ///< A configuration that the library rejects.
  invalid,          ///< A precondition of the library does not hold.
  disk_full,        ///< Something waits for room on the disk; nothing new is taken meanwhile.
  no_memory,
  stopped, ///< A conflict below the commit index or a worse thing: close, raise an alarm, start
           ///< from disk.
};

} // namespace assay::consensus
