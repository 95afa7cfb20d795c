#pragma once
// The fields of the answer to "who served" (src/ledger/catalog_fields.hpp says what the lists are
// for). Programs read them by these names: they are part of docs/audit.md.

#include "src/ledger/record_fields.hpp"
#include "src/ledger/who_served.hpp"

namespace assay::ledger {

void fields(auto&& v, either<citation> auto& x) {
  v("seq", x.seq);
  v("record", x.record);
  v("stamped_at", x.stamped_at);
  v("author", x.author);
  v("reason", x.reason);
}

void fields(auto&& v, either<cited_run> auto& x) {
  v("id", x.id);
  v("seq", x.seq);
  v("record", x.record);
  v("stage", x.stage);
  v("items", x.items);
  v("passed", x.passed);
  v("host", x.host);
  v("fingerprint", x.fingerprint);
  v("blobs", x.blobs);
}

void fields(auto&& v, either<cited_qualification> auto& x) {
  v("id", x.id);
  v("authorised", x.authorised);
  v("holds", x.holds);
  v("state", x.state);
  v("since", x.since);
  v("verdict", x.verdict);
  v("expires_at", x.expires_at);
  v("policy", x.policy);
  v("policy_record", x.policy_record);
  v("suite", x.suite);
  v("manifest", x.manifest);
  v("profile", x.profile);
  v("runs", x.runs);
}

void fields(auto&& v, either<cited_waiver> auto& x) {
  v("id", x.id);
  v("authorised", x.authorised);
  v("holds", x.holds);
  v("gates", x.gates);
  v("expires_at", x.expires_at);
  v("granted", x.granted);
  v("ended", x.ended);
}

void fields(auto&& v, either<carrier> auto& x) {
  v("implementation", x.implementation);
  v("qualifications", x.qualifications);
  v("waivers", x.waivers);
}

void fields(auto&& v, either<cited_service> auto& x) {
  v("counts", x.counts);
  v("told", x.told);
}

void fields(auto&& v, either<cited_standing> auto& x) {
  v("host", x.host);
  v("duty", x.duty);
  v("reason", x.reason);
  v("said", x.said);
}

void fields(auto&& v, either<way_back> auto& x) {
  v("plan", x.plan);
  v("first", x.first);
  v("changes_since", x.changes_since);
  v("command", x.command);
  v("why", x.why);
}

void fields(auto&& v, either<served> auto& x) {
  v("route", x.route);
  v("at", x.at);
  v("cluster", x.cluster);
  v("as_of_seq", x.as_of_seq);
  v("as_of_chain", x.as_of_chain);
  v("as_of", x.as_of);
  v("generation", x.generation);
  v("carried", x.carried);
  v("event", x.event);
  v("changed", x.changed);
  v("until", x.until);
  v("move", x.move);
  v("proposed", x.proposed);
  v("authorised", x.authorised);
  v("cause", x.cause);
  v("inverse_of", x.inverse_of);
  v("policy", x.policy);
  v("guarded", x.guarded);
  v("guards", x.guards);
  v("carriers", x.carriers);
  v("service", x.service);
  v("undo", x.undo);
  v("kept_hosts", x.kept_hosts);
}

} // namespace assay::ledger
