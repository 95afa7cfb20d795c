#pragma once
// What the coordinator asked for, as the replica's folder keeps it: to launch a runtime, or to
// watch a server that somebody else started.

#include "node-agent/runtime/life.hpp"
#include "src/catalog/profile.hpp"
#include "src/wire/fabric_messages.hpp"

#include <filesystem>
#include <string>
#include <variant>

namespace assay::agent {

using replica_order = std::variant<fabric::start_replica, fabric::adopt_replica>;

replica_id id_of(const replica_order& order);
std::uint64_t generation_of(const replica_order& order);
implementation_id implementation_of(const replica_order& order);
std::uint32_t slots_of(const replica_order& order);
std::string profile_text_of(const replica_order& order);
bool is_adopted(const replica_order& order);

/// The order of a replica's folder, or that it is damaged.
result<replica_order, problem> read_order(const std::filesystem::path& directory);
result<void, problem> write_order(const std::filesystem::path& directory, const replica_order& o);
/// From now on no agent takes the folder's replica over.
void forget_order(const std::filesystem::path& directory);
bool has_order(const std::filesystem::path& directory);

result<catalog::runtime_profile, problem> read_profile(const replica_order& order);
life::rules rules_of(const catalog::runtime_profile& profile, bool ours);

} // namespace assay::agent
