// What operators declare and take away.

#include "src/base/overloaded.hpp"
#include "src/ledger/changes.hpp"

#include <algorithm>

namespace assay::ledger {

namespace {

constexpr std::size_t users_named = 5; ///< How many dependents a refusal lists.

/// What still needs a declaration; a refusal names the first few.
struct users {
  std::vector<std::string> found;

  void add(std::string_view kind, const std::string& name) {
    found.push_back(std::string{kind} + " " + in_quotes(name));
  }

  std::string text() const {
    std::string list;
    for (std::size_t i = 0; i < std::min(found.size(), users_named); ++i)
      list += (i > 0 ? ", " : "") + found[i];
    if (found.size() > users_named)
      list += " and " + std::to_string(found.size() - users_named) + " more";
    return list;
  }
};

bool carries(const moves::vectors& v, const implementation_id& id) {
  return std::ranges::binary_search(moves::carriers(v), id);
}

/// Routes and open moves that may send traffic to the implementation, now or on the way back.
void add_carriers(users& u, const tables& t, const implementation_id& id) {
  for (const auto& [model, row] : *t.routes)
    if (carries(row.route.carried, id))
      u.add("route", model.value);
  for (const auto& [move, row] : *t.moves) {
    if (!moves::is_open(row.state))
      continue;
    if (carries(row.plan.after, id) || carries(row.plan.inverse.target, id))
      u.add("move", move.value);
  }
}

template <class Wanted>
void add_implementations(users& u, const tables& t, Wanted wanted) {
  for (const auto& [id, row] : *t.implementations)
    if (wanted(row.what))
      u.add("implementation", id.value);
}

users users_of_model(const tables& t, const model_id& id) {
  users u;
  for (const auto& [artifact, row] : *t.artifacts)
    if (row.what.model == id)
      u.add("artifact", artifact.value);
  add_implementations(u, t, [&](const auto& i) { return i.model == id; });
  if (auto* route = find(t.routes, id); route && moves::carries_anything(route->route.carried))
    u.add("route", id.value);
  for (const auto& [job, row] : *t.jobs)
    if (!row.ended && row.job.model == id)
      u.add("job", job.value);
  return u;
}

users users_of_profile(const tables& t, const profile_id& id) {
  users u;
  for (const auto& [artifact, row] : *t.artifacts)
    if (row.what.profile == id)
      u.add("artifact", artifact.value);
  add_implementations(u, t, [&](const auto& i) { return i.profile == id; });
  return u;
}

/// `name` as a policy or, bare, as a suite.
void add_models_judged_by(users& u, const tables& t, const std::string& name) {
  for (const auto& [id, row] : *t.models)
    if (row.what.evaluation_policy.value == name)
      u.add("model", id.value);
}

users users_of(const tables& t, declaration_kind kind, const std::string& name) {
  users u;
  switch (kind) {
  case declaration_kind::pool:
    add_implementations(u, t, [&](const auto& i) { return i.pool.value == name; });
    break;
  case declaration_kind::model:
    return users_of_model(t, {name});
  case declaration_kind::artifact:
    add_implementations(u, t, [&](const auto& i) { return i.artifact.value == name; });
    break;
  case declaration_kind::implementation:
    add_carriers(u, t, {name});
    break;
  case declaration_kind::runtime_profile:
    return users_of_profile(t, {name});
  case declaration_kind::suite:
    for (const auto& [id, row] : *t.policies)
      if (row.what.suite.value == name)
        u.add("policy", id.value);
    if (!find(t.policies, policy_id{name}))
      add_models_judged_by(u, t, name);
    break;
  case declaration_kind::policy:
    if (!find(t.suites, suite_id{name}))
      add_models_judged_by(u, t, name);
    break;
  case declaration_kind::project:
    for (const auto& [id, row] : *t.declared_keys)
      if (row.what.project.value == name)
        u.add("key", id.value);
    break;
  case declaration_kind::key:
    break;
  }
  return u;
}

ruling bad_text(std::string_view kind, const auto& document) {
  if (sha256(document.text) == document.sha256)
    return {};
  return refuse(
    "digest_mismatch",
    "the text of " + std::string{kind} + " " + in_quotes(document.name.value) + " has "
      + to_text(sha256(document.text)) + ", not the stated " + to_text(document.sha256)
  );
}

/// An artifact's declaration also opens its life. New bytes under an old name begin again.
ruling declare_artifact(change_set& c, const catalog::artifact& a) {
  auto manifest = manifest_digest(a);
  auto* old = find(c.tables.artifact_states, a.id);
  if (old && old->manifest == manifest) {
    if (old->state == artifact_state::tombstoned)
      return refuse(
        "tombstoned", "the artifact " + in_quotes(a.id.value) + " is tombstoned; its bytes are gone"
      );
    return {};
  }
  users u;
  for (const auto& [id, row] : *c.tables.implementations)
    if (row.what.artifact == a.id)
      add_carriers(u, c.tables, id);
  if (!u.found.empty())
    return refuse(
      "in_use",
      "the files of artifact " + in_quotes(a.id.value) + " cannot change while it is used by "
        + u.text() + "; declare the new files under another name"
    );
  c.put(artifact_row{
    a.id, manifest, artifact_state::registered, c.trust, c.author, {}, "declared", c.seq});
  return {};
}

ruling declare(change_set& c, const catalog::declaration& d) {
  return std::visit(
    overloaded{
      [&](const catalog::artifact& a) { return declare_artifact(c, a); },
      [&](const catalog::profile_document& p) { return bad_text("runtime-profile", p); },
      [&](const catalog::suite_document& s) { return bad_text("suite", s); },
      [](const auto&) { return ruling{}; },
    },
    d
  );
}

void revoke_secret(change_set& c, const key_id& id) {
  auto* row = find(c.tables.keys, id);
  if (!row || row->revoked)
    return;
  auto next = *row;
  next.revoked = true;
  next.seq = c.seq;
  c.put(next);
}

} // namespace

ruling change(change_set& c, const declared& p) {
  auto kind = static_cast<declaration_kind>(p.what.index());
  auto called = catalog::name_of(p.what);
  if (auto why = bad_name(name(kind), called))
    return why;
  auto old = find_declaration(c.tables, kind, called);
  if (old && old->what == p.what)
    return refuse(
      "unchanged", std::string{name(kind)} + " " + in_quotes(called) + " is declared so already"
    );
  if (auto why = declare(c, p.what))
    return why;
  c.put(catalog_row{p.what, c.record, c.seq});
  return {};
}

ruling change(change_set& c, const retired& p) {
  auto old = find_declaration(c.tables, p.kind, p.name);
  auto what = std::string{name(p.kind)} + " " + in_quotes(p.name);
  if (!old)
    return refuse("not_found", "there is no " + what);
  if (auto u = users_of(c.tables, p.kind, p.name); !u.found.empty())
    return refuse("in_use", what + " is used by " + u.text() + "; take those away first");
  if (p.kind == declaration_kind::key)
    revoke_secret(c, {p.name});
  auto* state = find(c.tables.artifact_states, artifact_id{p.name});
  if (p.kind == declaration_kind::artifact && state && state->state != artifact_state::tombstoned)
    c.drop(artifact_row{*state});
  c.drop(*std::move(old));
  return {};
}

} // namespace assay::ledger
