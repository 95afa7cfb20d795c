#include "src/ledger/observed.hpp"

#include "src/base/limits.hpp"

#include <string_view>
#include <utility>

namespace assay::ledger {

namespace {

// An adopted artifact's `source`, before the project's name.
constexpr std::string_view adopted_for = "adopted for project ";

unexpected<problem> refuse(problem_kind kind, std::string what, std::string next) {
  return unexpected{problem{kind, std::move(what), {}, std::move(next)}};
}

/// `adopted-HOST-PORT`: one name for each server of a host.
std::string adopted_name(const adoption& a) {
  auto authority = a.url.substr(a.url.find("//") == std::string::npos ? 0 : a.url.find("//") + 2);
  authority = authority.substr(0, authority.find('/'));
  auto colon = authority.rfind(':');
  auto port = colon == std::string::npos ? std::string{"80"} : authority.substr(colon + 1);
  return "adopted-" + a.host.value + "-" + port;
}

catalog::artifact artifact_of(const adoption& a) {
  return {
    .id = catalog::make_artifact_id(a.model, adopted_name(a)),
    .model = a.model,
    .kind = catalog::artifact_kind::adopted,
    .location = a.url,
    .files = {},
    .profile = a.profile,
    .licence = {},
    .source = std::string{adopted_for} + a.project.value,
  };
}

/// One replica and one request at a time: more is for whoever knows the server to declare.
catalog::implementation implementation_of(const adoption& a) {
  return {
    .id = adopted_as(a),
    .model = a.model,
    .pool = a.pool,
    .artifact = catalog::make_artifact_id(a.model, adopted_name(a)),
    .profile = {},
    .limits = {},
    .args = {},
    .wanted = catalog::implementation_status::production,
  };
}

std::optional<unexpected<problem>> undeclared(const tables& t, const adoption& a) {
  if (!find(t.models, a.model))
    return refuse(
      problem_kind::refused,
      "there is no model '" + a.model.value + "'",
      "declare it with its contract first: assay apply -f FILE; then adopt again"
    );
  if (!find(t.profiles, a.profile))
    return refuse(
      problem_kind::refused,
      "the runtime profile '" + a.profile.value + "' is not declared",
      "declare it: assay apply -f FILE (deploy/runtimes/http.yaml fits any OpenAI server); then "
      "adopt again"
    );
  if (!find(t.projects, a.project))
    return refuse(
      problem_kind::refused,
      "there is no project '" + a.project.value + "'",
      "declare it, or name another: assay-agent adopt --project NAME"
    );
  if (!find(t.pools, a.pool))
    return refuse(
      problem_kind::refused,
      "host '" + a.host.value + "' is in no declared pool",
      "declare the pool that it was registered for; then adopt again"
    );
  if (auto name = adopted_name(a); !catalog::is_name(name))
    return refuse(
      problem_kind::invalid,
      "'" + name + "' would be the artifact's name, and is none",
      "1 to 64 letters, digits, '.', '_' and '-' are allowed; offer a URL like "
      "http://127.0.0.1:8000 on a host with a shorter name"
    );
  return {};
}

} // namespace

std::vector<artifact_changed> changes_for(const tables& t, const artifact_seen& seen) {
  const auto* row = find(t.artifact_states, seen.artifact);
  if (!row || row->manifest != seen.manifest)
    return {};
  auto to = [&](artifact_state state) {
    return artifact_changed{seen.artifact, seen.manifest, state, seen.host, seen.detail};
  };
  if (!seen.matches)
    return row->state == artifact_state::verified ? std::vector{to(artifact_state::quarantined)}
                                                  : std::vector<artifact_changed>{};
  switch (row->state) {
  case artifact_state::registered:
    return {to(artifact_state::present), to(artifact_state::verified)};
  case artifact_state::present:
    return {to(artifact_state::verified)};
  default:
    return {};
  }
}

std::optional<stack_seen> change_for(
  const tables& t,
  const host_id& host,
  const pool_id& pool,
  const digest& fingerprint,
  const std::map<std::string, std::string>& fields
) {
  const auto* row = find(t.hosts, host);
  if (row && row->fingerprint == fingerprint && row->pool == pool)
    return {};
  stack_seen seen{.host = host, .pool = pool, .fingerprint = fingerprint, .fields = {}};
  for (const auto& [name, value] : fields)
    seen.fields.push_back({name, value});
  return seen;
}

std::vector<artifact_changed>
changes_for_adopted(const tables& t, const implementation_id& answering, const host_id& host) {
  const auto* i = find(t.implementations, answering);
  const auto* artifact = i ? find(t.artifacts, i->what.artifact) : nullptr;
  if (!artifact || artifact->what.kind != catalog::artifact_kind::adopted)
    return {};
  return changes_for(
    t,
    {artifact->what.id, catalog::manifest_digest(artifact->what), host, true, "its server answers"}
  );
}

reported_stack with_engine(reported_stack host, const std::string& engine) {
  if (engine.empty())
    return host;
  hasher sum{"assay.adopted-stack.1"};
  sum.add_field(host.sum).add_field(engine);
  host.sum = sum.finish();
  host.fields["engine"] = engine;
  return host;
}

host_id adopted_on(const host_id& host, const artifact_id& artifact) {
  constexpr auto half = limits::name_bytes / 2;
  auto name = artifact.value.substr(artifact.value.rfind('/') + 1);
  return {host.value.substr(0, half - 1) + "." + name.substr(0, half)};
}

implementation_id adopted_as(const adoption& a) {
  return catalog::make_implementation_id(a.model, a.pool, adopted_name(a), {});
}

result<std::vector<declared>, problem> declarations_for(const tables& t, const adoption& a) {
  if (auto why = undeclared(t, a))
    return *std::move(why);
  std::vector<declared> what;
  auto artifact = artifact_of(a);
  const auto* known = find(t.artifacts, artifact.id);
  if (!known || known->what != artifact)
    what.push_back({std::move(artifact)});
  // What an operator changed in it (its slots, its limits) is not taken back.
  if (auto implementation = implementation_of(a); !find(t.implementations, implementation.id))
    what.push_back({std::move(implementation)});
  return what;
}

std::optional<project_id> only_project_of(const tables& t, const artifact_id& artifact) {
  const auto* declared = find(t.artifacts, artifact);
  const auto* state = find(t.artifact_states, artifact);
  if (!declared || declared->what.kind != catalog::artifact_kind::adopted)
    return {};
  if (state && state->trust > trust::claimed)
    return {};
  std::string_view source = declared->what.source;
  // Without a project of its own it is nobody's until somebody approves it.
  return project_id{
    source.starts_with(adopted_for) ? std::string{source.substr(adopted_for.size())}
                                    : std::string{}};
}

} // namespace assay::ledger
