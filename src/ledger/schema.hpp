#pragma once
// Which records a cluster takes, by their schema version: all members have to understand what is
// applied, or they would come to differ.
//
// A record says what its reader has to know (`record::schema_version`). Members refuse what is
// above the version that the cluster agreed on, all of them alike, and the agreement is itself a
// record: `cluster_version`, which the leader proposes once every member's program knows the
// version. So a newer program may join, lead and leave again until then.

#include "src/ledger/apply.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace assay::ledger {

/// The newest schema version that this program knows: `schema_version`, in a file of its own, so
/// that a test can link a program that knows one more (tests/newer).
std::uint16_t known_schema();

/// What the members agreed on; 1 before the first agreement.
std::uint16_t agreed_schema(const head_row& head);

/// Refuses a record of this version where the cluster agreed on an older one.
std::optional<refusal> not_agreed(std::uint16_t agreed, std::uint16_t version);

/// What a leader should agree on next: the newest version that the program of every member knows,
/// when that is above today's. `known` is by member id, our own too, from what each said of itself;
/// a member that has said nothing holds it up.
std::optional<cluster_version>
due_version(const tables& t, const std::map<std::uint64_t, std::uint32_t>& known);

/// What a program that knows less than the cluster agreed on is told; empty when it may go on.
std::string too_old(const head_row& head, std::uint16_t knows);

/// What a newcomer whose program knows less than that is told before it becomes a member: it could
/// not hold what the others hold. Empty when it may join.
std::string too_old_to_join(const head_row& head, std::uint32_t knows);

} // namespace assay::ledger
