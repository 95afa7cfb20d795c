#pragma once
// From the members that the ledger names to the group that consensus runs, one change at a time.
// Pure: src/app/group.hpp asks and carries out.

#include "src/consensus/membership.hpp"
#include "src/ledger/tables.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace assay::app {

struct group_now {
  std::uint64_t self = 0;
  consensus::configuration members; ///< Of consensus, as of the newest change.
  std::function<bool(std::uint64_t node)> is_reached;
  std::uint64_t last_promoted = 0; ///< Tried last; another one has its turn first.
  bool is_settled = true;          ///< The change before is stored by who it is about.
};

/// The next change on the way from `now` to `wanted`; nothing: it is as wanted, or what is missing
/// waits for a member that cannot be reached.
///
/// Who is gone leaves first, so that it counts in no majority; then newcomers come in, then they
/// get their votes. The leader does not remove itself. A removal does not wait until the change
/// before is settled: whom that waits for may be who is gone.
std::optional<consensus::membership_change>
next_change(const std::vector<ledger::member>& wanted, const group_now& now);

} // namespace assay::app
