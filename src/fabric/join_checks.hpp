#pragma once
// What must be true of a join and of its answer before anybody acts on them, as sentences for a
// person. The decoder has checked sizes; these check forms. Pure; whether a name is free or a clock
// is right is not asked here.

#include "src/wire/fabric_messages.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace assay::fabric {

/// `[A-Za-z0-9._-]`, 1 to limits::name_bytes characters.
bool is_host_name(std::string_view text);

/// What is wrong with it and what is allowed; nothing when it may go on.
std::optional<std::string> fault_of(const join& said);
std::optional<std::string> fault_of(const joined_cluster& told);

/// Those that can be dialled, in their order.
std::vector<coordinator_at> only_dialled(std::vector<coordinator_at> told);

} // namespace assay::fabric
