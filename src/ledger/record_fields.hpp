#pragma once
// The fields of records and state entries (src/ledger/catalog_fields.hpp says what the lists are
// for).

#include "src/ledger/catalog_fields.hpp"
#include "src/ledger/record.hpp"

namespace assay::ledger {

template <>
inline constexpr std::string_view alternatives<payload>[] = {
  "cluster_created",
  "membership",
  "declared",
  "retired",
  "artifact_changed",
  "stack_seen",
  "eval_run",
  "qualification_opened",
  "qualification_decided",
  "qualification_changed",
  "qualification_extended",
  "waiver",
  "waiver_ended",
  "revocation",
  "move_proposed",
  "move_authorised",
  "move_route_changed",
  "move_acked",
  "move_changed",
  "key_issued",
  "key_revoked",
  "identity_added",
  "identity_revoked",
  "token_issued",
  "job_submitted",
  "job_ended",
  "serving_summary",
  "cluster_version",
  "host_standing",
};
static_assert(std::size(alternatives<payload>) == std::variant_size_v<payload>);

template <>
inline constexpr std::string_view alternatives<state_entry>[] = {
  "job_checkpoint",
  "usage",
  "holding",
};
static_assert(std::size(alternatives<state_entry>) == std::variant_size_v<state_entry>);

// -- envelope -----------------------------------------------------------------------------------

void fields(auto&& v, either<author> auto& x) {
  v("who", x.who);
  v("how", x.how);
}

void fields(auto&& v, either<subject> auto& x) {
  v("what", x.what);
  v("role", x.role);
}

void fields(auto&& v, either<parent> auto& x) {
  v("record", x.record);
  v("relation", x.relation);
}

void fields(auto&& v, either<record> auto& x) {
  v("record_id", x.record_id);
  v("schema_version", x.schema_version);
  v("subjects", x.subjects);
  v("parents", x.parents);
  v("author", x.author);
  v("correlation_id", x.correlation_id);
  v("reason_code", x.reason_code);
  v("reason_text", x.reason_text);
  v("trust", x.trust);
  v("payload", x.payload);
}

// -- payloads -----------------------------------------------------------------------------------

void fields(auto&& v, either<declared> auto& x) {
  v("what", x.what);
}

void fields(auto&& v, either<retired> auto& x) {
  v("kind", x.kind);
  v("name", x.name);
}

void fields(auto&& v, either<artifact_changed> auto& x) {
  v("artifact", x.artifact);
  v("manifest", x.manifest);
  v("to", x.to);
  v("host", x.host);
  v("detail", x.detail);
}

void fields(auto&& v, either<stack_field> auto& x) {
  v("name", x.name);
  v("value", x.value);
}

void fields(auto&& v, either<stack_seen> auto& x) {
  v("host", x.host);
  v("pool", x.pool);
  v("fingerprint", x.fingerprint);
  v("fields", x.fields);
}

void fields(auto&& v, either<envelope_point> auto& x) {
  v("input_tokens", x.input_tokens);
  v("output_tokens", x.output_tokens);
  v("concurrency", x.concurrency);
  v("stream", x.stream);
  v("passed", x.passed);
}

void fields(auto&& v, either<measure> auto& x) {
  v("name", x.name);
  v("value", x.value);
  v("unit", x.unit);
}

void fields(auto&& v, either<eval_run> auto& x) {
  v("id", x.id);
  v("qualification", x.qualification);
  v("implementation", x.implementation);
  v("stage", x.stage);
  v("status", x.status);
  v("suite", x.suite);
  v("manifest", x.manifest);
  v("profile", x.profile);
  v("fingerprint", x.fingerprint);
  v("host", x.host);
  v("items", x.items);
  v("passed", x.passed);
  v("failed", x.failed);
  v("errors", x.errors);
  v("distinct_answers", x.distinct_answers);
  v("score_ppm", x.score_ppm);
  v("score_lower_ppm", x.score_lower_ppm);
  v("confidence_ppm", x.confidence_ppm);
  v("points", x.points);
  v("measures", x.measures);
  v("blobs", x.blobs);
  v("started_at", x.started_at);
  v("ended_at", x.ended_at);
  v("detail", x.detail);
}

void fields(auto&& v, either<qualification_opened> auto& x) {
  v("id", x.id);
  v("implementation", x.implementation);
  v("policy", x.policy);
}

void fields(auto&& v, either<predicate> auto& x) {
  v("name", x.name);
  v("value", x.value);
  v("bound", x.bound);
  v("unit", x.unit);
  v("outcome", x.outcome);
}

void fields(auto&& v, either<qualification_decided> auto& x) {
  v("id", x.id);
  v("verdict", x.verdict);
  v("runs", x.runs);
  v("predicates", x.predicates);
  v("covers", x.covers);
  v("expires_at", x.expires_at);
  v("detail", x.detail);
}

void fields(auto&& v, either<qualification_changed> auto& x) {
  v("id", x.id);
  v("event", x.event);
  v("by", x.by);
  v("detail", x.detail);
}

void fields(auto&& v, either<qualification_extended> auto& x) {
  v("id", x.id);
  v("runs", x.runs);
  v("predicates", x.predicates);
  v("detail", x.detail);
}

void fields(auto&& v, either<waiver> auto& x) {
  v("id", x.id);
  v("implementation", x.implementation);
  v("gates", x.gates);
  v("expires_at", x.expires_at);
  v("reason", x.reason);
}

void fields(auto&& v, either<waiver_ended> auto& x) {
  v("id", x.id);
}

void fields(auto&& v, either<revocation> auto& x) {
  v("target", x.target);
  v("what", x.what);
  v("detail", x.detail);
}

void fields(auto&& v, either<move_step> auto& x) {
  v("carried", x.carried);
  v("hold_ms", x.hold_ms);
}

void fields(auto&& v, either<inverse_plan> auto& x) {
  v("target", x.target);
  v("fallback", x.fallback);
  v("shed_load", x.shed_load);
  v("irreversible", x.irreversible);
  v("note", x.note);
}

void fields(auto&& v, either<guard> auto& x) {
  v("metric", x.metric);
  v("bound", x.bound);
  v("unit", x.unit);
  v("window_ms", x.window_ms);
  v("samples_at_least", x.samples_at_least);
}

void fields(auto&& v, either<move_proposed> auto& x) {
  v("id", x.id);
  v("model", x.model);
  v("expected_generation", x.expected_generation);
  v("before", x.before);
  v("after", x.after);
  v("steps", x.steps);
  v("inverse", x.inverse);
  v("policy", x.policy);
  v("guarded", x.guarded);
  v("guards", x.guards);
  v("bake_ms", x.bake_ms);
  v("inverse_of", x.inverse_of);
  v("cause", x.cause);
}

void fields(auto&& v, either<move_authorised> auto& x) {
  v("id", x.id);
  v("qualifications", x.qualifications);
  v("waivers", x.waivers);
  v("versions", x.versions);
}

void fields(auto&& v, either<move_route_changed> auto& x) {
  v("id", x.id);
  v("event", x.event);
  v("step", x.step);
  v("generation", x.generation);
  v("carried", x.carried);
  v("guards", x.guards);
  v("detail", x.detail);
}

void fields(auto&& v, either<acknowledgement> auto& x) {
  v("node", x.node);
  v("generation", x.generation);
}

void fields(auto&& v, either<move_acked> auto& x) {
  v("id", x.id);
  v("event", x.event);
  v("nodes", x.nodes);
}

void fields(auto&& v, either<move_changed> auto& x) {
  v("id", x.id);
  v("event", x.event);
  v("guards", x.guards);
  v("detail", x.detail);
}

void fields(auto&& v, either<key_issued> auto& x) {
  v("key", x.key);
  v("secret", x.secret);
  v("internal", x.internal);
  v("project", x.project);
  v("traffic", x.traffic);
}

void fields(auto&& v, either<key_revoked> auto& x) {
  v("key", x.key);
  v("detail", x.detail);
}

void fields(auto&& v, either<identity_added> auto& x) {
  v("name", x.name);
  v("role", x.role);
  v("curve_public", x.curve_public);
  v("pool", x.pool);
  v("token", x.token);
}

void fields(auto&& v, either<identity_revoked> auto& x) {
  v("name", x.name);
  v("detail", x.detail);
}

void fields(auto&& v, either<host_standing> auto& x) {
  v("host", x.host);
  v("duty", x.duty);
  v("reason", x.reason);
}

void fields(auto&& v, either<token_issued> auto& x) {
  v("id", x.id);
  v("secret", x.secret);
  v("role", x.role);
  v("pool", x.pool);
  v("expires_at", x.expires_at);
}

void fields(auto&& v, either<job_submitted> auto& x) {
  v("id", x.id);
  v("project", x.project);
  v("key", x.key);
  v("model", x.model);
  v("input", x.input);
  v("items", x.items);
  v("priority", x.priority);
  v("name", x.name);
  v("options", x.options);
}

void fields(auto&& v, either<job_ended> auto& x) {
  v("id", x.id);
  v("end", x.end);
  v("succeeded", x.succeeded);
  v("failed", x.failed);
  v("detail", x.detail);
}

void fields(auto&& v, either<serving_summary> auto& x) {
  v("ingress", x.ingress);
  v("boot", x.boot);
  v("hour", x.hour);
  v("route", x.route);
  v("implementation", x.implementation);
  v("interactive", x.interactive);
  v("batch", x.batch);
  v("served", x.served);
  v("refused", x.refused);
  v("failed", x.failed);
  v("client_gone", x.client_gone);
  v("input_tokens", x.input_tokens);
  v("output_tokens", x.output_tokens);
  v("first_generation", x.first_generation);
  v("last_generation", x.last_generation);
  v("first_ended", x.first_ended);
  v("last_ended", x.last_ended);
  v("decisions", x.decisions);
}

void fields(auto&& v, either<cluster_created> auto& x) {
  v("cluster", x.cluster);
  v("name", x.name);
}

void fields(auto&& v, either<member> auto& x) {
  v("id", x.id);
  v("name", x.name);
  v("address", x.address);
  v("signing_public", x.signing_public);
  v("voter", x.voter);
  v("curve_public", x.curve_public);
  v("disk", x.disk);
  v("agents", x.agents);
  v("ingress", x.ingress);
}

void fields(auto&& v, either<membership> auto& x) {
  v("members", x.members);
}

void fields(auto&& v, either<cluster_version> auto& x) {
  v("version", x.version);
}

// -- state entries ------------------------------------------------------------------------------

void fields(auto&& v, either<job_checkpoint> auto& x) {
  v("job", x.job);
  v("first", x.first);
  v("count", x.count);
  v("succeeded", x.succeeded);
  v("failed", x.failed);
  v("output", x.output);
  v("errors", x.errors);
}

void fields(auto&& v, either<usage> auto& x) {
  v("key", x.key);
  v("hour", x.hour);
  v("requests", x.requests);
  v("input_tokens", x.input_tokens);
  v("output_tokens", x.output_tokens);
}

void fields(auto&& v, either<holding> auto& x) {
  v("holder", x.holder);
  v("what", x.what);
  v("held", x.held);
}

} // namespace assay::ledger
