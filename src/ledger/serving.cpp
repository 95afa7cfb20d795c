#include "src/ledger/serving.hpp"

#include "src/ledger/observed.hpp"
#include "src/ledger/offers.hpp"
#include "src/ledger/status.hpp"

#include <algorithm>
#include <charconv>

namespace assay::ledger {

namespace {

bool accepts_plaintext(const tables& t, const pool_id& id) {
  const auto* pool = find(t.pools, id);
  return pool && pool->what.plaintext_accepted;
}

std::optional<pool::launch> launch_of(const tables& t, const catalog::implementation& i) {
  const auto* artifact = find(t.artifacts, i.artifact);
  auto profile_name = profile_of(t, i);
  if (!artifact || !profile_name || !find(t.models, i.model))
    return {};
  const auto* profile = find(t.profiles, *profile_name);
  if (!profile)
    return {};
  return pool::launch{
    .implementation = i.id,
    .model = i.model,
    .artifact = i.artifact,
    .manifest = catalog::manifest_digest(artifact->what),
    .profile = *profile_name,
    .profile_digest = profile->what.sha256,
    .devices = i.devices,
    .slots = i.slots,
    .limits = i.limits,
    .args = i.args,
    .plaintext = accepts_plaintext(t, i.pool),
  };
}

/// The host whose agent offered the server; nothing when a person declared it.
std::optional<host_id> adopter_of(const tables& t, const artifact_id& artifact) {
  const auto* state = find(t.artifact_states, artifact);
  const auto* identity = state ? find(t.identities, state->registered_by) : nullptr;
  return identity ? std::optional{host_id{state->registered_by}} : std::nullopt;
}

// -- the snapshot's parts ---------------------------------------------------------------------

using routing::bits;

bits classes_of(catalog::implementation_status status) {
  using contract::traffic_class;
  bits admitted;
  switch (status) {
  case catalog::implementation_status::production:
  case catalog::implementation_status::canary:
    admitted.add(traffic_class::interactive);
    admitted.add(traffic_class::batch);
    admitted.add(traffic_class::shadow);
    break;
  case catalog::implementation_status::batch_only:
    admitted.add(traffic_class::batch);
    break;
  case catalog::implementation_status::draft:
  case catalog::implementation_status::suspended:
  case catalog::implementation_status::retired:
    break;
  }
  return admitted;
}

/// The last qualification of the implementation that was ever decided, whatever its state is now.
const qualification_row* last_decided(const tables& t, const implementation_id& id) {
  const qualification_row* last = nullptr;
  for (const auto& [name, row] : *t.qualifications) {
    if (row.implementation != id)
      continue;
    switch (row.state) {
    case qualification::state::draft:
    case qualification::state::evaluating:
    case qualification::state::inconclusive:
    case qualification::state::rejected:
      continue;
    default:
      if (!last || row.seq > last->seq)
        last = &row;
    }
  }
  return last;
}

routing::evaluation_state evaluation_of(const qualification_row* last) {
  if (!last)
    return routing::evaluation_state::missing;
  switch (last->state) {
  case qualification::state::suspended:
    return routing::evaluation_state::suspended;
  case qualification::state::expired:
    return routing::evaluation_state::expired;
  case qualification::state::revoked:
    return routing::evaluation_state::revoked;
  default:
    // Qualified, but for another artifact or profile than the one declared now.
    return routing::evaluation_state::missing;
  }
}

routing::envelope envelope_of(const qualification::envelope& e) {
  return {
    .input_tokens = e.input_tokens,
    .output_tokens = e.output_tokens,
    .streaming = e.streaming,
    .unary = e.unary,
  };
}

void add_offers(
  routing::implementation& to,
  const tables& t,
  const catalog::implementation& i,
  profile_offers& all
) {
  auto name = profile_of(t, i);
  const auto* profile = name ? find(t.profiles, *name) : nullptr;
  if (!profile)
    return;
  to.profile = profile->what.sha256;
  to.operations = all.of(profile->what);
}

void add_evidence(routing::implementation& to, const tables& t, wall_ms now) {
  if (const auto* current = current_qualification(t, to.id, now)) {
    to.evaluation = routing::evaluation_state::current;
    to.evaluation_expires = current->expires_at;
    to.qualified_fingerprints = current->fingerprints;
    to.envelope = envelope_of(current->covers);
    // The home of shapes without evidence takes any, up to its hard limits.
    to.envelope->any_shape = to.compatibility;
    return;
  }
  to.evaluation = evaluation_of(last_decided(t, to.id));
  to.why_not_current = why_not_qualified(t, to.id, now);
}

void add_waivers(routing::implementation& to, const tables& t, wall_ms now) {
  for (const auto& [id, row] : *t.waivers) {
    if (row.ended || row.waiver.implementation != to.id || row.waiver.expires_at <= now)
      continue;
    routing::waiver waiver{.id = id, .expires = row.waiver.expires_at};
    for (auto number : row.waiver.gates)
      waiver.gates.add(static_cast<routing::gate>(number));
    to.waivers.push_back(std::move(waiver));
  }
}

routing::implementation implementation_of(
  const tables& t,
  const catalog::implementation& i,
  const catalog::model& model,
  wall_ms now,
  profile_offers& offers
) {
  auto status = status_of(t, i.id, now);
  routing::implementation made{
    .id = i.id,
    .pool = i.pool,
    .served_name = catalog::served_name(i.model),
    .task = model.promises.task,
    .streaming = model.promises.streaming,
    .artifact_verified = is_artifact_approved(t, i.artifact),
    .status = std::string{catalog::name(status)},
    .admits = classes_of(status),
    .only_project = only_project_of(t, i.artifact),
    .limits = i.limits,
  };
  if (const auto* pool = find(t.pools, i.pool)) {
    made.pool_data_classes = pool->what.data_classes;
    made.compatibility = pool->what.compatibility;
  }
  add_offers(made, t, i, offers);
  add_evidence(made, t, now);
  add_waivers(made, t, now);
  return made;
}

struct ip_and_port {
  std::string address;
  std::uint16_t port = 0;
};

/// Nothing until the replica has an address.
std::optional<ip_and_port> split_address(const std::string& text) {
  auto colon = text.rfind(':');
  if (colon == std::string::npos)
    return {};
  ip_and_port split{text.substr(0, colon), 0};
  auto [end, why] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), split.port);
  if (why != std::errc{} || end != text.data() + text.size())
    return {};
  return split;
}

void add_endpoints(routing::snapshot_builder& to, const serving_inputs& from) {
  for (const auto& [name, view] : from.pools) {
    auto plaintext = accepts_plaintext(from.tables, name);
    for (const auto& replica : view->replicas) {
      auto where = split_address(replica.address);
      if (!where)
        continue;
      to.add(
        routing::endpoint{
          .address = where->address,
          .port = where->port,
          .secret = replica.secret,
          .generation = replica.generation,
          .host = replica.host,
          .replica = replica.id,
          .fingerprint = replica.fingerprint,
          .phase = replica.phase,
          .takes_traffic = replica.takes_traffic,
          .reach = pool::reach_of(replica, plaintext, from.loopback),
          .slots = replica.slots,
          .counters = from.counters.obtain(replica.key()),
          .learned = from.rates.of(replica.key()),
        },
        replica.implementation
      );
    }
  }
}

/// An empty list of shares is a route all the same: it carries nothing of that class, and the class
/// does not fall back to another one's route.
void add_route(
  routing::snapshot_builder& to,
  const moves::route& route,
  contract::traffic_class traffic,
  const std::vector<moves::share>& shares
) {
  std::vector<routing::snapshot_builder::named_share> named;
  for (const auto& share : shares)
    named.push_back({share.implementation, share.floor, share.ceiling});
  to.add_route(route.model, traffic, {.generation = route.generation}, named);
}

void add_keys(routing::snapshot_builder& to, const tables& t) {
  for (const auto& [id, row] : *t.keys) {
    if (row.revoked)
      continue;
    if (row.issued.internal) {
      to.add(row.issued.secret, {.id = id, .traffic = row.issued.traffic}, row.issued.project);
      continue;
    }
    if (const auto* declared = find(t.declared_keys, id))
      to.add(
        row.issued.secret,
        {.id = id, .traffic = declared->what.traffic, .models = declared->what.models},
        declared->what.project
      );
  }
}

/// The project of our own errands: EVALUATOR and DISPATCHER belong to nobody's project.
constexpr auto internal_project = "assay";

void add_projects(routing::snapshot_builder& to, const tables& t) {
  for (const auto& [id, row] : *t.projects)
    to.add(routing::project{id, row.what.data_classes});
  if (!find(t.projects, project_id{internal_project}))
    to.add(routing::project{project_id{internal_project}, {}});
}

void add_models(routing::snapshot_builder& to, const tables& t) {
  for (const auto& [id, row] : *t.models) {
    routing::model model{
      .id = id, .name = row.what.name, .version = row.what.version, .promises = row.what.promises};
    if (auto policy = policy_of(t, row.what.evaluation_policy))
      model.cost_ceiling_nano = policy->cost_ceiling_nano_per_unit;
    to.add(std::move(model));
  }
}

} // namespace

std::vector<pool::wanted_implementation> wanted_in(const tables& t, const pool_id& where) {
  std::vector<pool::wanted_implementation> wanted;
  if (!find(t.pools, where))
    return wanted;
  for (const auto& [id, row] : *t.implementations) {
    if (row.what.pool != where || row.what.wanted == catalog::implementation_status::retired)
      continue;
    auto launch = launch_of(t, row.what);
    if (!launch)
      continue;
    auto adopted =
      find(t.artifacts, row.what.artifact)->what.kind == catalog::artifact_kind::adopted;
    wanted.push_back({
      .launch = std::move(*launch),
      .replicas_min = row.what.replicas.min,
      .replicas_max = row.what.replicas.max,
      .degraded = find(t.models, row.what.model)->what.promises.degraded,
      .adopted = adopted,
      .only_on = adopted ? adopter_of(t, row.what.artifact) : std::nullopt,
    });
  }
  return wanted;
}

std::set<implementation_id> wanted_elsewhere(const tables& t, const pool_id& where) {
  std::set<implementation_id> out;
  for (const auto& [id, row] : *t.implementations)
    if (row.what.pool != where && find(t.pools, row.what.pool))
      out.insert(id);
  return out;
}

std::vector<pool_id>
pools_of(const tables& t, const host_id& host, std::span<const catalog::family> families) {
  const auto* identity = find(t.identities, host.value);
  if (!identity || identity->revoked)
    return {};
  if (!identity->identity.pool.value.empty())
    return {identity->identity.pool};
  std::vector<pool_id> pools;
  for (const auto& [id, row] : *t.pools)
    if (row.what.family == catalog::family::cpu
        || std::ranges::find(families, row.what.family) != families.end())
      pools.push_back(id);
  return pools;
}

std::shared_ptr<const routing::routing_snapshot> build_snapshot(
  std::uint64_t generation, const serving_inputs& from, const routing::routing_snapshot* before
) {
  const auto& t = from.tables;
  routing::snapshot_builder builder{generation};
  add_projects(builder, t);
  add_models(builder, t);
  profile_offers offers{before};
  for (const auto& [id, row] : *t.implementations) {
    const auto* model = find(t.models, row.what.model);
    if (!model)
      continue;
    auto made = implementation_of(t, row.what, model->what, from.now, offers);
    if (auto view = from.pools.find(made.pool); view != from.pools.end())
      made.waiting = view->second->queue.waiting;
    builder.add(std::move(made), row.what.model);
  }
  for (const auto& [id, row] : *t.routes) {
    add_route(
      builder, row.route, contract::traffic_class::interactive, row.route.carried.interactive
    );
    add_route(builder, row.route, contract::traffic_class::batch, row.route.carried.batch);
  }
  add_endpoints(builder, from);
  add_keys(builder, t);
  return builder.build(before);
}

} // namespace assay::ledger
