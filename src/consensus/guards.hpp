#pragma once
// What must be true of a message before the library may see it, and four repairs found by
// simulation.
//
// The packaged library has its assertions compiled out: a broken precondition corrupts memory,
// makes a false commit or ends the group. Each rule is a pure function over the message and our
// situation; each can be switched off, so that a test can show what it is good for.

#include "src/consensus/values.hpp"

#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace assay::consensus {

/// All on in the product. Simulation switches one off at a time, and must then find its fault.
struct guard_switches {
  // Against the library's faults.
  bool validates = true;       ///< The table of preconditions, `refuse`.
  bool repairs_results = true; ///< A result to an older term carries an uninitialised index.
  bool skips_compacted = true; ///< A probe into our compacted past wedges the leader's view of us.
  bool keeps_newer_state = true; ///< A late snapshot would replace a newer state and log.
  bool orders = true;            ///< A repeated or overtaken message wedges as well.
  bool splits_at_changes = true; ///< A change is recorded right only as its message's first entry.
  bool keeps_commit = true;      ///< The library's commit index can go back.
  bool tells_changes_again = true; ///< After a restart the library knows of no committed change.
  bool paces_timeouts = true;      ///< The library's deadline can lie in the past for ever.

  // What the library leaves to its driver.
  bool changes_one = true;      ///< One member per change, the others keep their order.
  bool awaits_promoted = true;  ///< The next change waits for the promoted one's log.
  bool transfers_level = true;  ///< Leadership goes to nobody whose log is behind.
  bool holds_messages = true;   ///< No message before the term and vote it speaks for are durable.
  bool reads_by_barrier = true; ///< A leader's word is no proof that it still leads.
  bool compacts_behind_state = true; ///< The log forgets only what the state on disk holds.
};

/// What we are while the message arrives.
struct situation {
  std::uint64_t self = 0;
  std::uint64_t term = 0;
  std::uint64_t first_index = 1;
  std::uint64_t last_index = 0;
  std::uint64_t snapshot_index = 0;
  std::uint64_t snapshot_term = 0;
  bool is_leader = false;
  bool is_candidate = false;
  bool is_installing = false;
  const configuration* members = nullptr; ///< Newest known, committed or not; empty for a joiner.
};

/// How far ahead of ours a term may be and still be believed.
inline constexpr std::uint64_t term_leap_max = 1ULL << 20;

/// The reason why the message must not reach the library.
std::optional<std::string_view> refuse(const message& what, const situation& here);

/// A late snapshot that ends where our log is already compacted. The library cannot see that we
/// hold what it covers: it would throw away entries that others have counted as ours.
bool is_older_than_ours(const install_snapshot& what, const situation& here);

/// Drops from a probe the entries that our snapshot already covers.
void skip_compacted(append_entries& probe, const situation& here);

/// The same entries in messages of which each has a change only as its first entry.
std::vector<append_entries> split_at_changes(append_entries whole);

/// The same entries in messages of at most so many bytes, or of one entry.
std::vector<append_entries> split_at_bytes(append_entries whole, std::size_t bytes_max);

/// Answers to a request of an older term must not claim entries.
void repair_result(append_entries_result& result);

/// Lets each sender's messages through in their order, each once; a new run starts again.
class arrival_order {
public:
  bool take(const message& what);

private:
  struct position {
    std::uint64_t run = 0;
    std::uint64_t sequence = 0;
  };
  std::map<std::uint64_t, position> last_;
};

} // namespace assay::consensus
