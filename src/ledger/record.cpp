#include "src/ledger/record.hpp"

#include "src/base/overloaded.hpp"
#include "src/ledger/record_fields.hpp"
#include "src/ledger/service.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace assay::ledger {

namespace {

constexpr std::array authentication_names{
  "process", "socket", "api_key", "curve", "munge", "token"};
constexpr std::array trust_names{"claimed", "measured", "verified"};
constexpr std::array relation_names{"evidence", "policy", "supersedes", "inverse_of", "caused_by"};
constexpr std::array declaration_names{
  "pool",
  "model",
  "artifact",
  "implementation",
  "runtime-profile",
  "suite",
  "policy",
  "project",
  "key"};
constexpr std::array artifact_names{
  "registered", "present", "verified", "quarantined", "deprecated", "tombstoned"};
constexpr std::array stage_names{"contract", "numeric", "task", "performance", "cost"};
constexpr std::array status_names{"complete", "aborted", "invalid"};
constexpr std::array outcome_names{"pass", "fail", "no_data"};
constexpr std::array target_names{"artifact", "fingerprint"};
constexpr std::array observation_names{"none", "pass", "fail", "no_data"};
constexpr std::array role_names{"coordinator", "ingress", "host", "job_agent"};
constexpr std::array duty_names{"in_service", "draining", "quarantined"};
constexpr std::array priority_names{"urgent", "normal", "backfill"};
constexpr std::array end_names{"finished", "failed", "cancelled"};

template <std::size_t N, class Enum>
std::string_view name_in(const std::array<const char*, N>& names, Enum value) {
  auto at = static_cast<std::size_t>(value);
  return at < N ? names[at] : "unknown";
}

template <class Enum, std::size_t N>
std::optional<Enum> parse_in(const std::array<const char*, N>& names, std::string_view text) {
  auto at = std::ranges::find(names, text);
  if (at == names.end())
    return {};
  return static_cast<Enum>(at - names.begin());
}

/// How many kinds each schema version knows. A version that adds kinds appends its number here, and
/// the one before it gets the number that it had.
constexpr std::array kinds_known{std::size_t{28}, std::variant_size_v<payload>};
static_assert(kinds_known.size() == schema_version);
static_assert(kinds_known.back() == std::variant_size_v<payload>);

/// Collects subjects; the set keeps each once, sorted.
struct subject_list {
  std::set<subject> found;

  void add(std::string_view kind, std::string_view name, std::string_view role) {
    if (!name.empty())
      found.insert({subject_of(kind, name), std::string{role}});
  }
  void add(std::string_view kind, std::string_view name) { add(kind, name, kind); }
  void stack(const digest& fingerprint) { add("stack", to_text(fingerprint)); }
};

/// One overload per payload: which things a reader would look this record up by.
struct subject_finder {
  subject_list& to;

  void operator()(const cluster_created& p) { to.add("cluster", to_text(p.cluster)); }
  void operator()(const membership& p) {
    for (const auto& m : p.members)
      to.add("member", m.name);
  }
  void operator()(const cluster_version&) { to.add("cluster", "schema"); }
  void operator()(const declared& p) {
    to.add(catalog::kind_of(p.what), catalog::name_of(p.what));
    if (auto* i = std::get_if<catalog::implementation>(&p.what)) {
      to.add("model", i->model.value);
      to.add("pool", i->pool.value);
      to.add("artifact", i->artifact.value);
    }
  }
  void operator()(const retired& p) { to.add(name(p.kind), p.name); }
  void operator()(const artifact_changed& p) {
    to.add("artifact", p.artifact.value);
    to.add("host", p.host.value);
  }
  void operator()(const stack_seen& p) {
    to.add("host", p.host.value);
    to.add("pool", p.pool.value);
    to.stack(p.fingerprint);
  }
  void operator()(const eval_run& p) {
    to.add("qualification", p.qualification.value);
    to.add("implementation", p.implementation.value);
    to.add("host", p.host.value);
    to.stack(p.fingerprint);
  }
  void operator()(const qualification_opened& p) {
    to.add("qualification", p.id.value);
    to.add("implementation", p.implementation.value);
    to.add("policy", p.policy.value);
  }
  void operator()(const qualification_decided& p) { to.add("qualification", p.id.value); }
  void operator()(const qualification_changed& p) {
    to.add("qualification", p.id.value);
    if (p.by)
      to.add("qualification", p.by->value, "newer");
  }
  void operator()(const qualification_extended& p) { to.add("qualification", p.id.value); }
  void operator()(const waiver& p) {
    to.add("waiver", p.id);
    to.add("implementation", p.implementation.value);
  }
  void operator()(const waiver_ended& p) { to.add("waiver", p.id); }
  void operator()(const revocation& p) {
    to.add(p.target == revocation_target::artifact ? "manifest" : "stack", to_text(p.what));
  }
  void operator()(const move_proposed& p) {
    to.add("move", p.id.value);
    to.add("route", p.model.value);
    for (const auto& i : moves::carriers(p.after))
      to.add("implementation", i.value, "after");
    for (const auto& i : moves::carriers(p.before))
      to.add("implementation", i.value, "before");
  }
  void operator()(const move_authorised& p) { to.add("move", p.id.value); }
  void operator()(const move_route_changed& p) {
    to.add("move", p.id.value);
    for (const auto& i : moves::carriers(p.carried))
      to.add("implementation", i.value, "carries");
  }
  void operator()(const move_acked& p) { to.add("move", p.id.value); }
  void operator()(const move_changed& p) { to.add("move", p.id.value); }
  void operator()(const key_issued& p) { to.add("key", p.key.value); }
  void operator()(const key_revoked& p) { to.add("key", p.key.value); }
  void operator()(const identity_added& p) { to.add("identity", p.name); }
  void operator()(const identity_revoked& p) { to.add("identity", p.name); }
  void operator()(const host_standing& p) {
    to.add("host", p.host.value);
    to.add("host_standing", p.host.value);
  }
  void operator()(const token_issued& p) { to.add("token", p.id); }
  void operator()(const job_submitted& p) {
    to.add("job", p.id.value);
    to.add("model", p.model.value);
    to.add("project", p.project.value);
  }
  void operator()(const job_ended& p) { to.add("job", p.id.value); }
  void operator()(const serving_summary& p) {
    to.add("service", p.route.value);
    to.add("service_hour", service_hour_name(p.route, p.hour));
  }
};

} // namespace

digest subject_of(std::string_view kind, std::string_view name) {
  return hasher{"assay subject 1"}.add_field(kind).add_field(name).finish();
}

std::vector<subject> subjects_of(const payload& p) {
  subject_list list;
  std::visit(subject_finder{list}, p);
  return {list.found.begin(), list.found.end()};
}

std::string_view kind_name(const payload& p) {
  return alternatives<payload>[p.index()];
}

std::uint16_t schema_needed(const payload& p) {
  std::uint16_t version = 1;
  for (auto known : kinds_known) {
    if (p.index() < known)
      break;
    ++version;
  }
  return version;
}

std::string_view kind_name(const state_entry& s) {
  return alternatives<state_entry>[s.index()];
}

record make_record(payload p, author who, reason why, trust believed) {
  return make_record(new_uuid7(), std::move(p), std::move(who), std::move(why), believed);
}

record make_record(uuid id, payload p, author who, reason why, trust believed) {
  record r;
  r.record_id = id;
  r.schema_version = schema_needed(p);
  r.subjects = subjects_of(p);
  r.author = std::move(who);
  r.reason_code = std::move(why.code);
  r.reason_text = std::move(why.text);
  r.trust = believed;
  r.payload = std::move(p);
  return r;
}

std::string_view name(authentication a) {
  return name_in(authentication_names, a);
}
std::string_view name(trust t) {
  return name_in(trust_names, t);
}
std::string_view name(relation r) {
  return name_in(relation_names, r);
}
std::string_view name(declaration_kind k) {
  return name_in(declaration_names, k);
}
std::string_view name(artifact_state s) {
  return name_in(artifact_names, s);
}
std::string_view name(run_stage s) {
  return name_in(stage_names, s);
}
std::string_view name(run_status s) {
  return name_in(status_names, s);
}
std::string_view name(predicate_outcome o) {
  return name_in(outcome_names, o);
}
std::string_view name(revocation_target t) {
  return name_in(target_names, t);
}
std::string_view name(observation o) {
  return name_in(observation_names, o);
}
std::string_view name(identity_role r) {
  return name_in(role_names, r);
}
std::string_view name(host_duty d) {
  return name_in(duty_names, d);
}
std::string_view name(job_priority p) {
  return name_in(priority_names, p);
}
std::string_view name(job_end e) {
  return name_in(end_names, e);
}

std::optional<declaration_kind> parse_declaration_kind(std::string_view text) {
  return parse_in<declaration_kind>(declaration_names, text);
}

std::optional<job_priority> parse_job_priority(std::string_view text) {
  return parse_in<job_priority>(priority_names, text);
}

} // namespace assay::ledger
