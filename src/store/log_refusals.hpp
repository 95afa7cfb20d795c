#pragma once
// What an asker is told when the log takes nothing: pure functions from the reason to the text.

#include "src/base/problem.hpp"
#include "src/consensus/values.hpp"
#include "src/store/clock_watch.hpp"

#include <optional>
#include <string>

namespace assay::store {

problem closing_problem();

/// Names the leader, where one is known, so that the asker can go there.
problem not_leader_problem(const consensus::configuration& members, std::uint64_t leader);

problem map_full_problem(std::uint32_t percent);

/// A proposal whose moment is the clock's, while the clock is not to be believed.
std::optional<problem> untimely(bool is_time_driven, const clock_watch& clock);

/// Why consensus took nothing, for whoever asked for a proposal, a change or a transfer.
problem
problem_of(consensus::refusal why, const consensus::configuration& members, std::uint64_t leader);

} // namespace assay::store
