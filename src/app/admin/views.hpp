#pragma once
// Rows for people: each kind of thing as a list of flat JSON objects with equal keys, the name
// first.

#include "src/app/admin/admin.hpp"
#include "src/ledger/tables.hpp"

namespace assay::app::admin {

/// One moment: what the ledger says and what is seen.
struct world {
  app::parts& parts;
  std::shared_ptr<const leading> lead; ///< Null in a copy.
  std::shared_ptr<const ledger::tables> tables;
  std::uint64_t seq = 0;
  json::object label; ///< How fresh it is. A copy shows no hosts and pools: only the leader does.
  std::map<host_id, host_answer> hosts;
  std::map<pool_id, std::shared_ptr<const pool::pool_view>> pools;
  wall_ms now;
};

result<world, problem> look(const call& c);

// items_catalog.cpp
json::array pool_items(const world& w);
json::array model_items(const world& w);
json::array artifact_items(const world& w);
json::array profile_items(const world& w);
json::array implementation_items(const world& w);
json::array suite_items(const world& w);
json::array policy_items(const world& w);
json::array project_items(const world& w);
json::array key_items(const world& w);

// items_state.cpp
json::array host_items(const world& w);
json::array replica_items(const world& w);
json::array qualification_items(const world& w);
json::array route_items(const world& w);
json::array move_items(const world& w);
json::array waiver_items(const world& w);
json::array job_items(const world& w);

/// What `describe` shows beyond the list's columns.
void add_details(
  const world& w, std::string_view kind, const std::string& name, json::object& item
);

} // namespace assay::app::admin
