#pragma once
// What a host may be used for: the rule of the record that says so, what it means to a pool, and
// who is to be asked about it. Pure.
//
// A host that nobody decided on is in service. Two decisions keep it from work: one that drains
// ends what it runs once nothing is in flight there, one that is quarantined is sent nothing from
// now on and keeps what runs there, so that it can be looked at. `resume` takes either back.

#include "src/ledger/chronicle.hpp"
#include "src/ledger/who_served.hpp"
#include "src/pool/events.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace assay::ledger {

/// `in service`, `draining`, `quarantined`.
std::string_view words_of(host_duty d);

host_duty duty_of(const tables& t, const host_id& host);

/// `host h is draining since 2026-12-02T09:14:03.250Z, by root: a new fan`; empty for a host in
/// service.
std::string why_kept(const tables& t, const host_id& host);

/// When that was decided last; 0: never. What a device had before a resume is forgiven.
wall_ms decided_at(const tables& t, const host_id& host);

/// The hosts that are kept from work, for pools.
std::map<host_id, pool::kept_host> kept_hosts(const tables& t);

/// Why each host that could run something of these pools is kept from work, by host.
std::vector<std::string> kept_lines(const tables& t, const std::set<pool_id>& pools);

/// The hosts of these pools that were kept from work as of record `seq`, each with the record that
/// said so. By name; the first 256.
result<std::vector<cited_standing>, problem>
standings_at(const chronicle& c, std::uint64_t seq, const std::set<pool_id>& pools);

} // namespace assay::ledger
