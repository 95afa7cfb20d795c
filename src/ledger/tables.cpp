#include "src/ledger/tables.hpp"

#include "src/base/check.hpp"

#include <algorithm>
#include <array>

namespace assay::ledger {

namespace {

constexpr std::array table_names{
  "head",           "catalog",    "artifacts", "stacks",      "hosts",       "runs",
  "qualifications", "routes",     "moves",     "waivers",     "revocations", "keys",
  "identities",     "tokens",     "jobs",      "checkpoints", "usage",       "holdings",
  "records",        "record_ids", "subjects",  "batches"};
static_assert(table_names.size() == table_count);

/// Eight bytes that sort as the number does.
std::string big_endian(std::uint64_t number) {
  std::string text(8, '\0');
  for (unsigned i = 0; i < 8; ++i)
    text[i] = static_cast<char>(number >> (56 - 8 * i));
  return text;
}

template <class Bytes>
std::string raw(const Bytes& from) {
  return {reinterpret_cast<const char*>(from.bytes.data()), from.bytes.size()};
}

/// Names hold no zero byte, so that one between two parts keeps keys apart and in order.
std::string joined(const std::string& first, const std::string& second) {
  return first + '\0' + second;
}

struct key_maker {
  std::string operator()(const head_row&) const { return "head"; }
  std::string operator()(const catalog_row& r) const {
    return catalog_key(static_cast<declaration_kind>(r.what.index()), catalog::name_of(r.what));
  }
  std::string operator()(const artifact_row& r) const { return r.artifact.value; }
  std::string operator()(const stack_row& r) const { return raw(r.fingerprint); }
  std::string operator()(const host_row& r) const { return r.host.value; }
  std::string operator()(const run_row& r) const { return r.run.id; }
  std::string operator()(const qualification_row& r) const { return r.id.value; }
  std::string operator()(const route_row& r) const { return r.route.model.value; }
  std::string operator()(const move_row& r) const { return r.plan.id.value; }
  std::string operator()(const waiver_row& r) const { return r.waiver.id; }
  std::string operator()(const revocation_row& r) const { return raw(r.revocation.what); }
  std::string operator()(const key_row& r) const { return r.issued.key.value; }
  std::string operator()(const identity_row& r) const { return r.identity.name; }
  std::string operator()(const token_row& r) const { return r.token.id; }
  std::string operator()(const job_row& r) const { return r.job.id.value; }
  std::string operator()(const job_checkpoint& r) const {
    return joined(r.job.value, big_endian(r.first));
  }
  std::string operator()(const usage& r) const {
    return joined(r.key.value, big_endian(static_cast<std::uint64_t>(r.hour.value)));
  }
  std::string operator()(const holding& r) const { return joined(r.holder, raw(r.what)); }
  std::string operator()(const record_row& r) const { return record_key(r.stamp.seq); }
  std::string operator()(const record_id_row& r) const { return raw(r.record_id); }
  std::string operator()(const subject_row& r) const {
    return subject_prefix(r.what) + big_endian(r.seq);
  }
  std::string operator()(const batch_row& r) const { return big_endian(r.raft_index); }
};

template <class Key, class Row>
void set(held<Key, Row>& in, Key key, const Row& r) {
  in.write().insert_or_assign(std::move(key), r);
}

/// Puts a declaration into the table of its kind.
struct catalog_loader {
  tables& to;
  const catalog_row& from;

  template <class T>
  declared_row<T> row(const T& what) const {
    return {what, from.record, from.seq};
  }
  void operator()(const catalog::pool& d) const { set(to.pools, d.name, row(d)); }
  void operator()(const catalog::model& d) const { set(to.models, d.id, row(d)); }
  void operator()(const catalog::artifact& d) const { set(to.artifacts, d.id, row(d)); }
  void operator()(const catalog::implementation& d) const { set(to.implementations, d.id, row(d)); }
  void operator()(const catalog::profile_document& d) const { set(to.profiles, d.name, row(d)); }
  void operator()(const catalog::suite_document& d) const { set(to.suites, d.name, row(d)); }
  void operator()(const catalog::policy& d) const { set(to.policies, d.name, row(d)); }
  void operator()(const catalog::project& d) const { set(to.projects, d.name, row(d)); }
  void operator()(const catalog::key& d) const { set(to.declared_keys, d.name, row(d)); }
};

struct loader {
  tables& to;

  void operator()(const head_row& r) const { to.head = r; }
  void operator()(const catalog_row& r) const { std::visit(catalog_loader{to, r}, r.what); }
  void operator()(const artifact_row& r) const { set(to.artifact_states, r.artifact, r); }
  void operator()(const stack_row& r) const { set(to.stacks, r.fingerprint, r); }
  void operator()(const host_row& r) const { set(to.hosts, r.host, r); }
  void operator()(const run_row& r) const { set(to.runs, r.run.id, r); }
  void operator()(const qualification_row& r) const { set(to.qualifications, r.id, r); }
  void operator()(const route_row& r) const { set(to.routes, r.route.model, r); }
  void operator()(const move_row& r) const { set(to.moves, r.plan.id, r); }
  void operator()(const waiver_row& r) const { set(to.waivers, r.waiver.id, r); }
  void operator()(const revocation_row& r) const { set(to.revocations, r.revocation.what, r); }
  void operator()(const key_row& r) const { set(to.keys, r.issued.key, r); }
  void operator()(const identity_row& r) const { set(to.identities, r.identity.name, r); }
  void operator()(const token_row& r) const { set(to.tokens, r.token.id, r); }
  void operator()(const job_row& r) const { set(to.jobs, r.job.id, r); }
  void operator()(const job_checkpoint& r) const { set(to.checkpoints, {r.job, r.first}, r); }
  void operator()(const usage& r) const { set(to.usage, {r.key, r.hour.value}, r); }
  void operator()(const holding& r) const { set(to.holdings, {r.holder, r.what}, r); }
  void operator()(const record_row&) const {}
  void operator()(const record_id_row&) const {}
  void operator()(const subject_row&) const {}
  void operator()(const batch_row&) const {}
};

struct catalog_dropper {
  tables& from;

  void operator()(const catalog::pool& d) const { from.pools.write().erase(d.name); }
  void operator()(const catalog::model& d) const { from.models.write().erase(d.id); }
  void operator()(const catalog::artifact& d) const { from.artifacts.write().erase(d.id); }
  void operator()(const catalog::implementation& d) const {
    from.implementations.write().erase(d.id);
  }
  void operator()(const catalog::profile_document& d) const { from.profiles.write().erase(d.name); }
  void operator()(const catalog::suite_document& d) const { from.suites.write().erase(d.name); }
  void operator()(const catalog::policy& d) const { from.policies.write().erase(d.name); }
  void operator()(const catalog::project& d) const { from.projects.write().erase(d.name); }
  void operator()(const catalog::key& d) const { from.declared_keys.write().erase(d.name); }
};

template <class Key, class Row>
std::optional<catalog_row> stored(const held<Key, Row>& in, std::string_view name) {
  auto* r = find(in, Key{std::string{name}});
  if (!r)
    return {};
  return catalog_row{r->what, r->record, r->seq};
}

template <class Key, class Row>
void append(std::vector<catalog_row>& to, const held<Key, Row>& from) {
  for (const auto& [_, r] : *from)
    to.push_back({r.what, r.record, r.seq});
}

} // namespace

std::string_view name(table t) {
  return table_names[static_cast<std::size_t>(t)];
}

table table_of(const row& r) {
  return static_cast<table>(r.index());
}

std::string key_of(const row& r) {
  return std::visit(key_maker{}, r);
}

std::string record_key(std::uint64_t seq) {
  return big_endian(seq);
}

std::string subject_prefix(const digest& what) {
  return raw(what);
}

std::string catalog_key(declaration_kind kind, std::string_view name) {
  return joined(std::string{ledger::name(kind)}, std::string{name});
}

bool is_in_memory(table t) {
  return t < table::records;
}

void tables::load(const row& r) {
  std::visit(loader{*this}, r);
}

void tables::drop(const row& r) {
  if (auto* d = std::get_if<catalog_row>(&r))
    std::visit(catalog_dropper{*this}, d->what);
  else if (auto* a = std::get_if<artifact_row>(&r))
    artifact_states.write().erase(a->artifact);
  else if (auto* h = std::get_if<ledger::holding>(&r))
    holdings.write().erase({h->holder, h->what});
  else
    check(false, "rows of this kind stay for ever");
}

bool operator==(const tables& a, const tables& b) {
  return a.head == b.head && *a.pools == *b.pools && *a.models == *b.models
         && *a.artifacts == *b.artifacts && *a.implementations == *b.implementations
         && *a.profiles == *b.profiles && *a.suites == *b.suites && *a.policies == *b.policies
         && *a.projects == *b.projects && *a.declared_keys == *b.declared_keys
         && *a.artifact_states == *b.artifact_states && *a.stacks == *b.stacks
         && *a.hosts == *b.hosts && *a.runs == *b.runs && *a.qualifications == *b.qualifications
         && *a.routes == *b.routes && *a.moves == *b.moves && *a.waivers == *b.waivers
         && *a.revocations == *b.revocations && *a.keys == *b.keys && *a.identities == *b.identities
         && *a.tokens == *b.tokens && *a.jobs == *b.jobs && *a.checkpoints == *b.checkpoints
         && *a.usage == *b.usage && *a.holdings == *b.holdings;
}

std::optional<catalog_row>
find_declaration(const tables& t, declaration_kind kind, std::string_view name) {
  switch (kind) {
  case declaration_kind::pool:
    return stored(t.pools, name);
  case declaration_kind::model:
    return stored(t.models, name);
  case declaration_kind::artifact:
    return stored(t.artifacts, name);
  case declaration_kind::implementation:
    return stored(t.implementations, name);
  case declaration_kind::runtime_profile:
    return stored(t.profiles, name);
  case declaration_kind::suite:
    return stored(t.suites, name);
  case declaration_kind::policy:
    return stored(t.policies, name);
  case declaration_kind::project:
    return stored(t.projects, name);
  case declaration_kind::key:
    return stored(t.declared_keys, name);
  }
  return {};
}

std::vector<catalog_row> all_declarations(const tables& t) {
  std::vector<catalog_row> all;
  append(all, t.pools);
  append(all, t.models);
  append(all, t.artifacts);
  append(all, t.implementations);
  append(all, t.profiles);
  append(all, t.suites);
  append(all, t.policies);
  append(all, t.projects);
  append(all, t.declared_keys);
  return all;
}

std::optional<profile_id> profile_of(const tables& t, const catalog::implementation& i) {
  if (i.profile)
    return i.profile;
  auto* a = find(t.artifacts, i.artifact);
  return a ? a->what.profile : std::optional<profile_id>{};
}

const move_row* open_move(const tables& t, const model_id& model) {
  for (const auto& [_, m] : *t.moves)
    if (m.plan.model == model && moves::is_open(m.state))
      return &m;
  return nullptr;
}

std::vector<job_checkpoint> checkpoints_of(const tables& t, const job_id& job) {
  std::vector<job_checkpoint> found;
  for (auto at = t.checkpoints->lower_bound({job, 0});
       at != t.checkpoints->end() && at->first.job == job;
       ++at)
    found.push_back(at->second);
  return found;
}

} // namespace assay::ledger
