#include "src/ledger/status.hpp"

#include <algorithm>

namespace assay::ledger {

namespace {

using catalog::implementation_status;

std::string in_quotes(std::string_view name) {
  return "\"" + std::string{name} + "\"";
}

/// The qualification is about what is declared now: same bytes, same launch.
bool is_about(const tables& t, const qualification_row& q, const catalog::implementation& i) {
  auto* artifact = find(t.artifact_states, i.artifact);
  if (!artifact || artifact->manifest != q.manifest)
    return false;
  return launch_digest_of(t, i) == q.profile;
}

/// The latest qualification of the implementation that `fits`, by its last change.
template <class Fits>
const qualification_row* latest(const tables& t, const implementation_id& id, Fits fits) {
  const qualification_row* found = nullptr;
  for (const auto& [_, q] : *t.qualifications)
    if (q.implementation == id && fits(q) && (!found || q.seq > found->seq))
      found = &q;
  return found;
}

std::string why_by_state(const qualification_row& q, wall_ms now) {
  using qualification::state;
  auto id = "qualification " + in_quotes(q.id.value);
  if (q.state == state::qualified && q.expires_at <= now)
    return id + " has expired; qualify again";
  if (q.state == state::qualified)
    return id
           + " is about other bytes, another profile or other arguments than are declared now; "
             "qualify again";
  if (q.state == state::evaluating || q.state == state::draft)
    return id + " is " + std::string{qualification::name(q.state)} + "; wait for its verdict";
  return id + " is " + std::string{qualification::name(q.state)}
         + (q.detail.empty() ? "" : ": " + q.detail) + "; qualify again";
}

/// A list of what is missing, with short names for its kinds of sentences.
struct needs {
  const tables& t;
  std::vector<missing> list;

  void add(std::string what, std::string next) {
    list.push_back({std::move(what), std::move(next)});
  }
  void declared(bool there, std::string_view kind, std::string_view name) {
    if (!there)
      add(
        std::string{kind} + " " + in_quotes(name) + " is not declared",
        "declare it: a document that begins with \"" + std::string{kind} + ": " + std::string{name}
          + "\", then assay apply"
      );
  }
};

void need_artifact(needs& n, const catalog::implementation& i) {
  auto* state = find(n.t.artifact_states, i.artifact);
  if (!find(n.t.artifacts, i.artifact) || !state)
    return n.declared(false, "artifact", i.artifact.value);
  if (is_artifact_approved(n.t, i.artifact))
    return;
  bool is_new =
    state->state == artifact_state::registered || state->state == artifact_state::present;
  n.add(
    "artifact " + in_quotes(i.artifact.value) + " is "
      + (is_new ? "not verified yet" : std::string{name(state->state)}),
    is_new ? "a host of the pool verifies it once its files are in place"
           : "declare another artifact, or have this one verified again"
  );
}

void need_profile(needs& n, const catalog::implementation& i) {
  auto profile = profile_of(n.t, i);
  if (!profile)
    return n.add(
      "no runtime profile is named",
      "add \"profile: NAME\" to the artifact or to the implementation"
    );
  n.declared(find(n.t.profiles, *profile) != nullptr, "runtime-profile", profile->value);
}

void need_policy(needs& n, const catalog::implementation& i) {
  auto* model = find(n.t.models, i.model);
  if (!model)
    return n.declared(false, "model", i.model.value);
  const auto& wanted = model->what.evaluation_policy;
  if (wanted.value.empty())
    return n.add(
      "model " + in_quotes(i.model.value) + " names no evaluation policy",
      "add \"evaluation-policy: NAME\" to the model"
    );
  auto policy = policy_of(n.t, wanted);
  if (!policy)
    return n.declared(false, "policy", wanted.value);
  n.declared(find(n.t.suites, policy->suite) != nullptr, "suite", policy->suite.value);
}

bool carries(implementation_status s) {
  return s == implementation_status::canary || s == implementation_status::production
         || s == implementation_status::batch_only;
}

} // namespace

std::optional<catalog::policy> policy_of(const tables& t, const policy_id& id) {
  if (auto* declared = find(t.policies, id))
    return declared->what;
  if (find(t.suites, suite_id{id.value}))
    return catalog::default_policy({id.value});
  return {};
}

const qualification_row*
current_qualification(const tables& t, const implementation_id& implementation, wall_ms now) {
  auto* i = find(t.implementations, implementation);
  if (!i || !is_artifact_approved(t, i->what.artifact))
    return nullptr;
  return latest(t, implementation, [&](const qualification_row& q) {
    return q.state == qualification::state::qualified && q.expires_at > now
           && is_about(t, q, i->what) && !usable_fingerprints(t, q).empty();
  });
}

std::vector<digest> usable_fingerprints(const tables& t, const qualification_row& q) {
  auto usable = q.fingerprints;
  std::erase_if(usable, [&](const digest& f) { return find(t.revocations, f) != nullptr; });
  return usable;
}

std::string
why_not_qualified(const tables& t, const implementation_id& implementation, wall_ms now) {
  if (current_qualification(t, implementation, now))
    return {};
  auto* i = find(t.implementations, implementation);
  if (!i)
    return "implementation " + in_quotes(implementation.value) + " is not declared";
  if (!is_artifact_approved(t, i->what.artifact))
    return "artifact " + in_quotes(i->what.artifact.value) + " is not verified, or is revoked";
  auto* q = latest(t, implementation, [](const qualification_row&) { return true; });
  if (!q)
    return "it was never qualified; run: assay qualify " + implementation.value;
  if (q->state == qualification::state::qualified && !q->fingerprints.empty()
      && usable_fingerprints(t, *q).empty())
    return "every stack that it was qualified on is revoked; qualify again";
  return why_by_state(*q, now);
}

const waiver_row* waiver_of(
  const tables& t, const implementation_id& implementation, std::uint8_t gate, wall_ms now
) {
  for (const auto& [_, w] : *t.waivers)
    if (w.waiver.implementation == implementation && !w.ended && w.waiver.expires_at > now
        && std::ranges::find(w.waiver.gates, gate) != w.waiver.gates.end())
      return &w;
  return nullptr;
}

std::vector<const waiver_row*> waivers_to_review(const tables& t, wall_ms now) {
  std::vector<const waiver_row*> found;
  for (const auto& [_, w] : *t.waivers)
    if (!w.ended && w.waiver.expires_at <= now)
      found.push_back(&w);
  std::ranges::sort(found, {}, [](const waiver_row* w) { return w->waiver.expires_at; });
  return found;
}

bool is_artifact_approved(const tables& t, const artifact_id& artifact) {
  auto* a = find(t.artifact_states, artifact);
  return a && a->state == artifact_state::verified && !find(t.revocations, a->manifest);
}

implementation_status
status_of(const tables& t, const implementation_id& implementation, wall_ms now) {
  auto* i = find(t.implementations, implementation);
  if (!i || i->what.wanted == implementation_status::retired)
    return implementation_status::retired;
  auto* route = find(t.routes, i->what.model);
  auto standing = route ? moves::standing_of(route->route.carried, implementation)
                        : std::optional<moves::standing>{};
  bool admitted =
    current_qualification(t, implementation, now) || waiver_of(t, implementation, 5, now);
  if (!admitted) {
    auto* q = latest(t, implementation, [](const qualification_row&) { return true; });
    bool had_one = q && q->decided_at != wall_ms{} && !q->fingerprints.empty();
    return had_one || standing ? implementation_status::suspended : implementation_status::draft;
  }
  if (!standing)
    return implementation_status::draft;
  switch (*standing) {
  case moves::standing::canary:
    return implementation_status::canary;
  case moves::standing::batch_only:
    return implementation_status::batch_only;
  case moves::standing::production:
    break;
  }
  return implementation_status::production;
}

std::optional<digest> launch_digest_of(const tables& t, const catalog::implementation& i) {
  auto profile = profile_of(t, i);
  auto* text = profile ? find(t.profiles, *profile) : nullptr;
  if (!text)
    return {};
  hasher all{"assay-launch-1"};
  all.add_field(text->what.sha256)
    .add_field(std::uint64_t{i.devices})
    .add_field(std::uint64_t{i.slots});
  for (const auto& [name, value] : i.args)
    all.add_field(name).add_field(value);
  return all.finish();
}

std::vector<missing>
missing_for(const tables& t, const implementation_id& implementation, wall_ms now) {
  auto* i = find(t.implementations, implementation);
  needs n{t, {}};
  if (!i) {
    n.declared(false, "implementation", implementation.value);
    return n.list;
  }
  auto wanted = i->what.wanted;
  if (!carries(wanted) || status_of(t, implementation, now) == wanted)
    return {};
  n.declared(find(t.pools, i->what.pool) != nullptr, "pool", i->what.pool.value);
  need_artifact(n, i->what);
  need_profile(n, i->what);
  need_policy(n, i->what);
  if (!n.list.empty())
    return n.list;
  if (auto why = why_not_qualified(t, implementation, now); !why.empty())
    n.add("no current qualification: " + why, "assay qualify " + implementation.value);
  n.add(
    "it does not stand in the route as " + std::string{catalog::name(wanted)},
    "assay promote " + implementation.value + " --status " + std::string{catalog::name(wanted)}
  );
  return n.list;
}

std::vector<missing> missing_for(const tables& t, const catalog::declaration& d, wall_ms now) {
  needs n{t, {}};
  if (const auto* i = std::get_if<catalog::implementation>(&d))
    return missing_for(t, i->id, now);
  if (const auto* m = std::get_if<catalog::model>(&d)) {
    auto has_one = std::ranges::any_of(*t.implementations, [&](const auto& one) {
      return one.second.what.model == m->id;
    });
    if (!has_one)
      n.add(
        "nothing implements it, so every request for it is refused",
        "declare an implementation: `implementations:` in the model's document, with pool and "
        "artifact"
      );
  }
  if (const auto* k = std::get_if<catalog::key>(&d))
    n.declared(find(t.projects, k->project) != nullptr, "project", k->project.value);
  return n.list;
}

} // namespace assay::ledger
