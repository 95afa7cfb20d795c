// What is declared, with its derived state.

#include "src/app/admin/views.hpp"
#include "src/catalog/declarations.hpp"
#include "src/ledger/status.hpp"

#include <algorithm>

namespace assay::app::admin {

namespace {

std::string count_text(std::uint64_t part, std::uint64_t whole) {
  return std::to_string(part) + "/" + std::to_string(whole);
}

/// `40 %`, `2.5 %`
std::string percent(std::uint32_t basis_points) {
  auto text = std::to_string(basis_points / 100);
  if (auto rest = basis_points % 100)
    text += "." + std::string(rest < 10 ? "0" : "") + std::to_string(rest % 10 ? rest : rest / 10);
  return text + " %";
}

template <class Names>
json::array words(const Names& names) {
  json::array all;
  for (const auto& name : names)
    all.emplace_back(name);
  return all;
}

std::string share_of(const std::vector<moves::share>& shares, const implementation_id& id) {
  for (const auto& share : shares)
    if (share.implementation == id)
      return share.floor == share.ceiling ? percent(share.ceiling)
                                          : percent(share.floor) + " to " + percent(share.ceiling);
  return {};
}

} // namespace

json::array pool_items(const world& w) {
  json::array all;
  for (const auto& [id, row] : *w.tables->pools) {
    auto at = w.pools.find(id);
    const auto* view = at == w.pools.end() ? nullptr : at->second.get();
    std::uint64_t connected = 0, ready = 0, waiting = 0;
    for (const auto& host : view ? view->hosts : std::vector<pool::host_view>{})
      connected += host.connected;
    for (const auto& replica : view ? view->replicas : std::vector<pool::replica_view>{})
      ready += replica.takes_traffic;
    if (view)
      for (auto count : view->queue.waiting)
        waiting += count;
    all.push_back(json::object{
      {"name", id.value},
      {"family", catalog::name(row.what.family)},
      {"hosts", connected},
      {"replicas_ready", ready},
      {"waiting", waiting},
      {"compatibility", row.what.compatibility}});
  }
  return all;
}

json::array model_items(const world& w) {
  json::array all;
  for (const auto& [id, row] : *w.tables->models) {
    const auto* route = ledger::find(w.tables->routes, id);
    auto serving = route ? moves::carriers(route->route.carried).size() : 0;
    all.push_back(json::object{
      {"name", id.value},
      {"task", contract::name(row.what.promises.task)},
      {"evaluation_policy", row.what.evaluation_policy.value},
      {"serving", serving},
      {"route_generation", route ? route->route.generation : 0}});
  }
  return all;
}

json::array artifact_items(const world& w) {
  json::array all;
  for (const auto& [id, row] : *w.tables->artifacts) {
    const auto* state = ledger::find(w.tables->artifact_states, id);
    all.push_back(json::object{
      {"name", id.value},
      {"kind", catalog::name(row.what.kind)},
      {"state", state ? ledger::name(state->state) : "unknown"},
      {"files", row.what.files.size()},
      {"manifest", assay::to_text(catalog::manifest_digest(row.what))}});
  }
  return all;
}

json::array profile_items(const world& w) {
  json::array all;
  for (const auto& [id, row] : *w.tables->profiles)
    all.push_back(json::object{
      {"name", id.value},
      {"bytes", row.what.text.size()},
      {"sha256", assay::to_text(row.what.sha256)}});
  return all;
}

json::array implementation_items(const world& w) {
  json::array all;
  for (const auto& [id, row] : *w.tables->implementations) {
    const auto* current = ledger::current_qualification(*w.tables, id, w.now);
    const auto* route = ledger::find(w.tables->routes, row.what.model);
    std::uint64_t ready = 0;
    if (auto at = w.pools.find(row.what.pool); at != w.pools.end())
      for (const auto& replica : at->second->replicas)
        ready += replica.takes_traffic && replica.implementation == id;
    auto missing = ledger::missing_for(*w.tables, id, w.now);
    all.push_back(json::object{
      {"name", id.value},
      {"status", catalog::name(ledger::status_of(*w.tables, id, w.now))},
      {"wanted", catalog::name(row.what.wanted)},
      {"share", route ? share_of(route->route.carried.interactive, id) : ""},
      {"batch_share", route ? share_of(route->route.carried.batch, id) : ""},
      {"ready", count_text(ready, row.what.replicas.max)},
      {"qualification", current ? current->id.value : ""},
      {"missing", missing.empty() ? "" : missing.front().what}});
  }
  return all;
}

json::array suite_items(const world& w) {
  json::array all;
  for (const auto& [id, row] : *w.tables->suites)
    all.push_back(json::object{
      {"name", id.value},
      {"bytes", row.what.text.size()},
      {"sha256", assay::to_text(row.what.sha256)}});
  return all;
}

json::array policy_items(const world& w) {
  json::array all;
  for (const auto& [id, row] : *w.tables->policies)
    all.push_back(json::object{
      {"name", id.value},
      {"suite", row.what.suite.value},
      {"score_at_least_ppm", row.what.score_at_least_ppm},
      {"confidence_ppm", row.what.confidence_ppm},
      {"items_at_least", row.what.items_at_least},
      {"valid_hours", row.what.valid_for.count() / 3600}});
  return all;
}

json::array project_items(const world& w) {
  json::array all;
  for (const auto& [id, row] : *w.tables->projects)
    all.push_back(json::object{{"name", id.value}, {"data_classes", words(row.what.data_classes)}});
  return all;
}

json::array key_items(const world& w) {
  json::array all;
  for (const auto& [id, row] : *w.tables->keys) {
    const auto* declared = ledger::find(w.tables->declared_keys, id);
    auto project = declared ? declared->what.project : row.issued.project;
    auto traffic = declared ? declared->what.traffic : row.issued.traffic;
    all.push_back(json::object{
      {"name", id.value},
      {"project", project.value},
      {"class", contract::name(traffic)},
      {"models", words(declared ? declared->what.models : std::vector<std::string>{})},
      {"state",
       row.revoked           ? "revoked"
       : row.issued.internal ? "internal"
                             : "active"}});
  }
  return all;
}

} // namespace assay::app::admin
