#pragma once
// What the ledger means to those who serve: which replicas a pool should run, to which pools a host
// belongs, and what an ingress may route where.
//
// Pure: tables and views in, values out. Nothing here grants anything; it only translates what
// records granted already.

#include "src/ledger/tables.hpp"
#include "src/pool/counters.hpp"
#include "src/pool/events.hpp"
#include "src/pool/view.hpp"
#include "src/routing/learn.hpp"
#include "src/routing/snapshot.hpp"

#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

namespace assay::ledger {

/// The replicas that a pool should run: every implementation in it whose model, artifact and
/// profile are declared and that does not want to be retired. Sorted by implementation.
std::vector<pool::wanted_implementation> wanted_in(const tables& t, const pool_id& where);

/// The implementations of the other pools, whose coordinators start and stop them.
std::set<implementation_id> wanted_elsewhere(const tables& t, const pool_id& where);

/// The pools that a host belongs to: the one its identity names, or, when it names none, every pool
/// of a family that the host has. Every host has `cpu`. Nothing for a revoked host.
std::vector<pool_id>
pools_of(const tables& t, const host_id& host, std::span<const catalog::family> families);

/// Everything the snapshot is built from, at one moment.
struct serving_inputs {
  const ledger::tables& tables;
  const std::map<pool_id, std::shared_ptr<const pool::pool_view>>& pools;
  pool::endpoint_registry& counters; ///< Gives each endpoint its counters.
  const routing::rate_table& rates;
  wall_ms now;
  std::string_view loopback; ///< `own_loopback` of the ingress; empty: all counts as reached.
};

/// `generation` grows with every snapshot of one ingress; `before` is the last one, or null.
std::shared_ptr<const routing::routing_snapshot> build_snapshot(
  std::uint64_t generation, const serving_inputs& from, const routing::routing_snapshot* before
);

} // namespace assay::ledger
