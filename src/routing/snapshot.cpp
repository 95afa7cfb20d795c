#include "src/routing/snapshot.hpp"

#include "src/base/limits.hpp"

#include <algorithm>
#include <cstring>

namespace assay::routing {

namespace {

template <class Index>
std::uint32_t look_up(const Index& index, std::string_view text) {
  auto found = index.find(text);
  return found == index.end() ? none : found->second;
}

endpoint_brief brief(const endpoint& e) {
  return {
    .counters = e.counters.get(),
    .generation = e.generation,
    .slots = e.slots,
    .serves = e.takes_traffic && pool::serves(e.phase) && e.reach == pool::reach::reached,
    .saturated = e.phase == pool::phase::saturated,
    .qualified = e.qualified,
    .pace = pace_of(e.learned, e.slots),
  };
}

constexpr auto as_index(std::size_t n) {
  return static_cast<std::uint32_t>(n);
}

} // namespace

std::string_view name(gate g) {
  constexpr std::array<std::string_view, gate_count> names{
    "serves_task",
    "artifact_approved",
    "within_limits",
    "within_evidence",
    "evaluation_current",
    "data_allowed",
    "economics_acceptable",
    "has_capacity",
  };
  return names[static_cast<std::size_t>(g) - 1];
}

std::string_view name(evaluation_state s) {
  constexpr std::array<std::string_view, 5> names{
    "missing", "current", "expired", "suspended", "revoked"};
  return names[static_cast<std::size_t>(s)];
}

std::string_view name(route_policy p) {
  constexpr std::array<std::string_view, 3> names{"fixed", "latency", "cost"};
  return names[static_cast<std::size_t>(p)];
}

bool is_out_of_reach(const endpoint& e) {
  return e.takes_traffic && pool::serves(e.phase) && e.reach != pool::reach::reached;
}

pool::endpoint_key endpoint::key() const {
  return {address + ":" + std::to_string(port), generation};
}

const model_route* model::route_for(contract::traffic_class c) const {
  if (const auto& own = routes[static_cast<std::size_t>(c)])
    return &*own;
  const auto& usual = routes[static_cast<std::size_t>(contract::traffic_class::interactive)];
  return usual ? &*usual : nullptr;
}

std::size_t routing_snapshot::digest_hash::operator()(const digest& d) const noexcept {
  std::size_t first = 0; // A digest's bytes are as good as random.
  std::memcpy(&first, d.bytes.data(), sizeof first);
  return first;
}

std::uint32_t routing_snapshot::find_model(std::string_view name) const {
  return look_up(model_index_, name);
}

std::uint32_t routing_snapshot::find_implementation(std::string_view id) const {
  return look_up(implementation_index_, id);
}

const key* routing_snapshot::find_key(const digest& secret_sha256) const {
  auto found = key_index_.find(secret_sha256);
  return found == key_index_.end() ? nullptr : &keys_[found->second];
}

const endpoint* routing_snapshot::find_endpoint(const pool::endpoint_key& k) const {
  auto found = std::find_if(endpoints_.begin(), endpoints_.end(), [&](const endpoint& e) {
    return e.generation == k.generation && e.counters->key() == k;
  });
  return found == endpoints_.end() ? nullptr : &*found;
}

std::uint32_t snapshot_builder::add(project p) {
  made_.projects_.push_back(std::move(p));
  return as_index(made_.projects_.size() - 1);
}

std::uint32_t snapshot_builder::add(routing::model m) {
  auto index = as_index(made_.models_.size());
  m.implementations.clear();
  m.salt = std::hash<std::string>{}(m.id.value);
  model_by_id_[m.id.value] = index;
  made_.models_.push_back(std::move(m));
  return index;
}

std::uint32_t snapshot_builder::model_at(const model_id& id) const {
  return look_up(model_by_id_, id.value);
}

bool snapshot_builder::add(routing::implementation i, const model_id& of) {
  auto model = model_at(of);
  if (model == none || made_.models_[model].implementations.size() >= limits::implementations_per_model) {
    ++left_out_;
    return false;
  }
  auto index = as_index(made_.implementations_.size());
  i.model = model;
  i.position = static_cast<std::uint16_t>(made_.models_[model].implementations.size());
  const auto& holds = i.pool_data_classes;
  const auto& data_class = made_.models_[model].promises.data_class;
  i.pool_holds_data =
    holds.empty() || std::find(holds.begin(), holds.end(), data_class) != holds.end();
  std::sort(i.qualified_fingerprints.begin(), i.qualified_fingerprints.end());
  made_.models_[model].implementations.push_back(index);
  made_.implementation_index_[i.id.value] = index;
  made_.implementations_.push_back(std::move(i));
  return true;
}

bool snapshot_builder::add(routing::endpoint e, const implementation_id& of) {
  auto implementation = look_up(made_.implementation_index_, of.value);
  if (implementation == none || !e.counters) {
    ++left_out_;
    return false;
  }
  e.implementation = implementation;
  const auto& set = made_.implementations_[implementation].qualified_fingerprints;
  e.qualified = std::binary_search(set.begin(), set.end(), e.fingerprint);
  endpoints_.push_back({std::move(e), implementation});
  return true;
}

bool snapshot_builder::add(const digest& secret_sha256, key k, const project_id& of) {
  auto owner = std::find_if(made_.projects_.begin(), made_.projects_.end(), [&](const auto& p) {
    return p.id == of;
  });
  if (owner == made_.projects_.end()) {
    ++left_out_;
    return false;
  }
  k.project = as_index(static_cast<std::size_t>(owner - made_.projects_.begin()));
  made_.key_index_[secret_sha256] = as_index(made_.keys_.size());
  made_.keys_.push_back(std::move(k));
  return true;
}

bool snapshot_builder::add_route(
  const model_id& of,
  contract::traffic_class traffic,
  model_route r,
  const std::vector<named_share>& shares,
  bool names_version
) {
  auto index = model_at(of);
  if (index == none) {
    ++left_out_;
    return false;
  }
  r.shares.clear();
  for (const auto& s : shares) {
    auto implementation = look_up(made_.implementation_index_, s.implementation.value);
    if (implementation == none || made_.implementations_[implementation].model != index) {
      ++left_out_;
      continue;
    }
    r.shares.push_back({implementation, s.floor, s.ceiling, s.hard});
  }
  auto& m = made_.models_[index];
  m.routes[static_cast<std::size_t>(traffic)] = std::move(r);
  if (names_version)
    named_by_route_[m.name] = index;
  return true;
}

void snapshot_builder::place_endpoints(routing_snapshot& s) {
  std::stable_sort(endpoints_.begin(), endpoints_.end(), [](const auto& a, const auto& b) {
    return a.implementation < b.implementation;
  });
  s.endpoints_.reserve(endpoints_.size());
  s.briefs_.reserve(endpoints_.size());
  for (auto& pending : endpoints_) {
    auto& i = s.implementations_[pending.implementation];
    if (i.endpoints++ == 0)
      i.first_endpoint = as_index(s.endpoints_.size());
    const auto& e = s.endpoints_.emplace_back(std::move(pending.endpoint));
    const auto& b = s.briefs_.emplace_back(brief(e));
    i.serving += b.serves ? 1 : 0;
    i.serving_qualified += b.serves && b.qualified ? 1 : 0;
    i.out_of_reach += is_out_of_reach(e) ? 1 : 0;
  }
}

void snapshot_builder::index_models(routing_snapshot& s) const {
  for (std::uint32_t index = 0; index < s.models_.size(); ++index) {
    const auto& m = s.models_[index];
    s.model_index_[m.name + "@" + std::to_string(m.version)] = index;
    // The bare name: what the route names, else the highest version declared.
    auto [bare, is_new] = s.model_index_.try_emplace(m.name, index);
    if (!is_new && s.models_[bare->second].version < m.version)
      bare->second = index;
  }
  for (const auto& [name, index] : named_by_route_)
    s.model_index_[name] = index;
}

void snapshot_builder::name_everything(routing_snapshot& s, const routing_snapshot* before) const {
  name_table names;
  for (const auto& m : s.models_)
    names.models.push_back(m.id.value);
  for (const auto& i : s.implementations_)
    names.implementations.push_back(i.id.value);
  for (const auto& e : s.endpoints_)
    names.endpoints.push_back(e.replica.value + " at " + e.counters->key().address);
  for (const auto& p : s.projects_)
    names.projects.push_back(p.id.value);
  for (const auto& k : s.keys_)
    names.keys.push_back(k.id.value);
  if (before && *before->names_ == names)
    s.names_ = before->names_;
  else
    s.names_ = std::make_shared<const name_table>(std::move(names));
}

std::shared_ptr<const routing_snapshot> snapshot_builder::build(const routing_snapshot* before) {
  auto s = std::make_shared<routing_snapshot>(std::exchange(made_, {}));
  s->generation_ = generation_;
  place_endpoints(*s);
  index_models(*s);
  name_everything(*s, before);
  *this = snapshot_builder{generation_};
  return s;
}

} // namespace assay::routing
