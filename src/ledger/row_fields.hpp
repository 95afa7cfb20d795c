#pragma once
// The fields of table rows and of export frames (src/ledger/catalog_fields.hpp says what the lists
// are for).

#include "src/ledger/audit.hpp"
#include "src/ledger/record_fields.hpp"

namespace assay::ledger {

template <>
inline constexpr std::string_view alternatives<row>[] = {
  "head",  "catalog", "artifact",   "stack",     "host",     "run",   "qualification", "route",
  "move",  "waiver",  "revocation", "key",       "identity", "token", "job",           "checkpoint",
  "usage", "holding", "record",     "record_id", "subject",  "batch",
};
static_assert(std::size(alternatives<row>) == std::variant_size_v<row>);

template <>
inline constexpr std::string_view alternatives<export_frame>[] = {
  "header",
  "batch",
  "head",
};
static_assert(std::size(alternatives<export_frame>) == std::variant_size_v<export_frame>);

// -- rows ---------------------------------------------------------------------------------------

void fields(auto&& v, either<head_row> auto& x) {
  v("cluster", x.cluster);
  v("name", x.name);
  v("seq", x.seq);
  v("chain", x.chain);
  v("stamped_at", x.stamped_at);
  v("applied_index", x.applied_index);
  v("applied_term", x.applied_term);
  v("members", x.members);
  v("last_member", x.last_member);
  v("schema_version", x.schema_version);
}

void fields(auto&& v, either<catalog_row> auto& x) {
  v("what", x.what);
  v("record", x.record);
  v("seq", x.seq);
}

void fields(auto&& v, either<artifact_row> auto& x) {
  v("artifact", x.artifact);
  v("manifest", x.manifest);
  v("state", x.state);
  v("trust", x.trust);
  v("registered_by", x.registered_by);
  v("host", x.host);
  v("detail", x.detail);
  v("seq", x.seq);
}

void fields(auto&& v, either<stack_row> auto& x) {
  v("fingerprint", x.fingerprint);
  v("fields", x.fields);
  v("first_seq", x.first_seq);
}

void fields(auto&& v, either<host_row> auto& x) {
  v("host", x.host);
  v("pool", x.pool);
  v("fingerprint", x.fingerprint);
  v("previous", x.previous);
  v("since", x.since);
  v("seq", x.seq);
}

void fields(auto&& v, either<run_row> auto& x) {
  v("run", x.run);
  v("record", x.record);
  v("seq", x.seq);
}

void fields(auto&& v, either<qualification_row> auto& x) {
  v("id", x.id);
  v("implementation", x.implementation);
  v("state", x.state);
  v("policy", x.policy);
  v("policy_record", x.policy_record);
  v("suite", x.suite);
  v("manifest", x.manifest);
  v("profile", x.profile);
  v("attempts", x.attempts);
  v("runs", x.runs);
  v("fingerprints", x.fingerprints);
  v("covers", x.covers);
  v("predicates", x.predicates);
  v("detail", x.detail);
  v("opened_at", x.opened_at);
  v("decided_at", x.decided_at);
  v("expires_at", x.expires_at);
  v("superseded_by", x.superseded_by);
  v("suspended_seq", x.suspended_seq);
  v("seq", x.seq);
}

void fields(auto&& v, either<route_row> auto& x) {
  v("route", x.route);
  v("by", x.by);
  v("reverting", x.reverting);
  v("since", x.since);
  v("seq", x.seq);
}

void fields(auto&& v, either<move_row> auto& x) {
  v("plan", x.plan);
  v("state", x.state);
  v("steps_done", x.steps_done);
  v("targets_tried", x.targets_tried);
  v("generation", x.generation);
  v("qualifications", x.qualifications);
  v("waivers", x.waivers);
  v("acknowledged", x.acknowledged);
  v("author", x.author);
  v("detail", x.detail);
  v("proposed_at", x.proposed_at);
  v("changed_at", x.changed_at);
  v("record", x.record);
  v("seq", x.seq);
}

void fields(auto&& v, either<waiver_row> auto& x) {
  v("waiver", x.waiver);
  v("author", x.author);
  v("granted_at", x.granted_at);
  v("ended", x.ended);
  v("seq", x.seq);
}

void fields(auto&& v, either<revocation_row> auto& x) {
  v("revocation", x.revocation);
  v("seq", x.seq);
}

void fields(auto&& v, either<key_row> auto& x) {
  v("issued", x.issued);
  v("revoked", x.revoked);
  v("seq", x.seq);
}

void fields(auto&& v, either<standing_decided> auto& x) {
  v("duty", x.duty);
  v("reason", x.reason);
  v("author", x.author);
  v("since", x.since);
  v("seq", x.seq);
}

void fields(auto&& v, either<identity_row> auto& x) {
  v("identity", x.identity);
  v("revoked", x.revoked);
  v("since", x.since);
  v("seq", x.seq);
  v("standing", x.standing);
}

void fields(auto&& v, either<token_row> auto& x) {
  v("token", x.token);
  v("used_by", x.used_by);
  v("seq", x.seq);
}

void fields(auto&& v, either<job_row> auto& x) {
  v("job", x.job);
  v("ended", x.ended);
  v("submitted_at", x.submitted_at);
  v("ended_at", x.ended_at);
  v("seq", x.seq);
}

void fields(auto&& v, either<stamp> auto& x) {
  v("seq", x.seq);
  v("raft_index", x.raft_index);
  v("raft_term", x.raft_term);
  v("stamped_at", x.stamped_at);
  v("proposer", x.proposer);
  v("record", x.record);
  v("previous_chain", x.previous_chain);
  v("chain", x.chain);
}

void fields(auto&& v, either<record_row> auto& x) {
  v("stamp", x.stamp);
  v("canonical", x.canonical);
}

void fields(auto&& v, either<record_id_row> auto& x) {
  v("record_id", x.record_id);
  v("record", x.record);
  v("seq", x.seq);
  v("chain", x.chain);
  v("stamped_at", x.stamped_at);
}

void fields(auto&& v, either<subject_row> auto& x) {
  v("what", x.what);
  v("seq", x.seq);
  v("role", x.role);
}

void fields(auto&& v, either<batch_row> auto& x) {
  v("raft_index", x.raft_index);
  v("term", x.term);
  v("stamped_at", x.stamped_at);
  v("proposer", x.proposer);
  v("records", x.records);
  v("seqs", x.seqs);
  v("signature", x.signature);
}

// -- exports ------------------------------------------------------------------------------------

void fields(auto&& v, either<export_header> auto& x) {
  v("format", x.format);
  v("cluster", x.cluster);
  v("genesis", x.genesis);
}

void fields(auto&& v, either<export_batch> auto& x) {
  v("batch", x.batch);
  v("canonical", x.canonical);
}

void fields(auto&& v, either<export_head> auto& x) {
  v("seq", x.seq);
  v("chain", x.chain);
  v("signer", x.signer);
  v("signature", x.signature);
}

} // namespace assay::ledger
