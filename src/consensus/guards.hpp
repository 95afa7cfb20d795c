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

struct guard_switches {
  bool validates = true; ///< The table of preconditions, `refuse`.
  bool repairs_results =
    true; ///< A result to a sender of an older term carries an uninitialised index.
  bool skips_compacted = true; ///< A probe into our compacted past wedges the leader's view of us.
  bool orders = true;          ///< A repeated or overtaken message wedges as well.
  bool splits_at_changes =
    true; ///< A change is recorded under the right index only as its message's first entry.
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

/// Drops from a probe the entries that our snapshot already covers.
void skip_compacted(append_entries& probe, const situation& here);

/// The same entries in messages of which each has a change only as its first entry.
std::vector<append_entries> split_at_changes(append_entries whole);

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
