#pragma once
// Changes of the group as pure functions: one member at a time, the others where they were.
//
// The library checks none of this: it would take a configuration whose majority shares nobody with
// the one before.

#include "src/base/result.hpp"
#include "src/consensus/values.hpp"

#include <string_view>

namespace assay::consensus {

/// Joins without a vote and without the log; `promote` gives it both.
struct add_spare {
  member who; ///< Its role is ignored.
};
/// Joins without a vote for as long as it is a member, and gets the log.
struct add_standby {
  member who; ///< Its role is ignored.
};
/// Catches a member without a vote up, then makes it a voter.
struct promote {
  std::uint64_t id = 0;
};
/// The leader is not removed: it hands over first.
struct remove_member {
  std::uint64_t id = 0;
};
using membership_change = std::variant<add_spare, add_standby, promote, remove_member>;

/// The group afterwards, or why the change is not allowed.
result<configuration, std::string_view>
changed(const configuration& before, const membership_change& how);

/// Whether at most one member came, went or has another role, and all others kept their order.
bool is_one_change(const configuration& before, const configuration& after);

const member* find_member(const configuration& in, std::uint64_t id);
std::size_t voters_of(const configuration& in);

/// The member that got its vote by the newer of two configurations; 0: nobody.
std::uint64_t promoted_between(const configuration& before, const configuration& after);

} // namespace assay::consensus
