#include "src/ledger/apply.hpp"

#include "src/base/check.hpp"
#include "src/base/limits.hpp"
#include "src/ledger/changes.hpp"
#include "src/ledger/schema.hpp"
#include "src/ledger/service.hpp"

#include <algorithm>
#include <map>

namespace assay::ledger {

namespace {

/// The ids that this batch has taken so far, before those that the disk knows.
class ids {
public:
  explicit ids(const history& known) : known_{known} {}

  std::optional<record_id_row> find(const uuid& id) const {
    auto at = taken_.find(id);
    return at != taken_.end() ? std::optional{at->second} : known_.find(id);
  }
  void take(const record_id_row& r) { taken_.emplace(r.record_id, r); }

private:
  const history& known_;
  std::map<uuid, record_id_row> taken_;
};

ruling bad_envelope(const tables& t, const record& r) {
  if (auto why = not_agreed(agreed_schema(t.head), r.schema_version))
    return why;
  if (r.schema_version < schema_needed(r.payload))
    return refuse(
      "bad_envelope",
      "a record of kind " + std::string{kind_name(r.payload)} + " has at least schema version "
        + std::to_string(schema_needed(r.payload)) + ", not " + std::to_string(r.schema_version)
    );
  if (r.record_id == uuid{})
    return refuse("bad_envelope", "the record has no id; give it a UUIDv7 and repeat it on retry");
  if (r.author.who.empty())
    return refuse("bad_envelope", "the record does not say who asked");
  if (r.subjects.size() > limits::subjects || r.parents.size() > limits::parents)
    return refuse(
      "bad_envelope",
      "the record has " + std::to_string(r.subjects.size()) + " subjects and "
        + std::to_string(r.parents.size()) + " parents; at most 64 of each are allowed"
    );
  if (auto* s = std::get_if<serving_summary>(&r.payload); s && r.record_id != id_of(*s))
    return refuse(
      "bad_envelope",
      "an hour of service is told under the id that follows from its ingress, boot, hour, route "
      "and "
      "implementation, so that it counts once"
    );
  for (const auto& s : subjects_of(r.payload))
    if (std::ranges::find(r.subjects, s) == r.subjects.end())
      return refuse(
        "bad_envelope",
        "the record does not name the subject \"" + s.role + "\" that its payload is about"
      );
  return {};
}

ruling rule(change_set& c, const record& r) {
  if (auto why = bad_envelope(c.tables, r))
    return why;
  bool creates = std::holds_alternative<cluster_created>(r.payload);
  if (!creates && !c.tables.head.cluster)
    return refuse("no_cluster", "the ledger is empty; its first record creates the cluster");
  return std::visit([&](const auto& p) { return change(c, p); }, r.payload);
}

/// One batch on its way into the tables.
class application {
public:
  application(tables& t, const batch& b, std::uint64_t index, const history& known)
    : tables_{t}, batch_{b}, index_{index}, ids_{known} {
    // Time never goes back, whatever a new leader's clock says.
    now_ = std::max(b.stamped_at, t.head.stamped_at);
  }

  batch_outcome run() {
    // Rows are large to move: the record's own, its index rows and one that it changes, and a few.
    outcome_.rows.reserve(5 * batch_.entries.size() + 8);
    outcome_.verdicts.reserve(batch_.entries.size());
    for (const auto& e : batch_.entries)
      outcome_.verdicts.push_back(take(e));
    finish();
    return std::move(outcome_);
  }

private:
  verdict take(const entry& e) {
    if (auto* r = std::get_if<record>(&e.what))
      return take_record(e, *r);
    if (auto* s = std::get_if<state_entry>(&e.what))
      return take_state(*s);
    if (e.is_record)
      note(e.hash, 0);
    return refusal{
      "malformed",
      "the bytes are no record and no state entry that every coordinator can read; nothing was "
      "applied"};
  }

  verdict take_record(const entry& e, const record& r) {
    if (auto first = ids_.find(r.record_id)) {
      note(e.hash, 0);
      return repeated(e, *first);
    }
    change_set c{tables_, now_, tables_.head.seq + 1, e.hash, r.author.who, r.trust};
    if (auto why = rule(c, r)) {
      note(e.hash, 0);
      return *std::move(why);
    }
    return chained(e, r, c);
  }

  static verdict repeated(const entry& e, const record_id_row& first) {
    if (first.record != e.hash)
      return refusal{
        "id_reused",
        "the record id was used for another record, seq " + std::to_string(first.seq)
          + "; a new record needs a new id"};
    return receipt{first.seq, first.record, first.chain, first.stamped_at, true};
  }

  /// The record holds: it gets its place in the chain, and the rows that lead to it.
  verdict chained(const entry& e, const record& r, change_set& c) {
    auto& head = tables_.head;
    auto previous = head.chain;
    head.seq = c.seq;
    head.chain = chain_hash(previous, c.seq, e.hash, now_);
    stamp s{c.seq, index_, batch_.term, now_, batch_.proposer, e.hash, previous, head.chain};
    note(e.hash, c.seq);
    std::ranges::move(c.rows, std::back_inserter(outcome_.rows));
    write(record_row{s, e.canonical});
    record_id_row id{r.record_id, e.hash, c.seq, head.chain, now_};
    ids_.take(id);
    write(id);
    for (auto* list :
         std::initializer_list<const std::vector<subject>*>{&r.subjects, &c.also_about})
      for (const auto& about : *list)
        write(subject_row{about.what, c.seq, about.role});
    return receipt{c.seq, e.hash, head.chain, now_, false};
  }

  verdict take_state(const state_entry& s) {
    change_set c{tables_, now_, tables_.head.seq};
    if (!tables_.head.cluster)
      return refusal{"no_cluster", "the ledger is empty; its first record creates the cluster"};
    if (auto why = std::visit([&](const auto& p) { return change(c, p); }, s))
      return *std::move(why);
    std::ranges::move(c.rows, std::back_inserter(outcome_.rows));
    return receipt{0, {}, {}, now_, false};
  }

  void note(const digest& hash, std::uint64_t seq) {
    noted_.records.push_back(hash);
    noted_.seqs.push_back(seq);
  }

  void finish() {
    auto& head = tables_.head;
    head.stamped_at = now_;
    head.applied_index = index_;
    head.applied_term = batch_.term;
    if (!noted_.records.empty()) {
      noted_.raft_index = index_;
      noted_.term = batch_.term;
      noted_.stamped_at = batch_.stamped_at;
      noted_.proposer = batch_.proposer;
      noted_.signature = {batch_.signature.begin(), batch_.signature.end()};
      write(noted_);
    }
    write(head);
  }

  void write(row r) {
    auto t = table_of(r);
    auto key = key_of(r);
    outcome_.rows.push_back({t, std::move(key), std::move(r)});
  }

  tables& tables_;
  const batch& batch_;
  std::uint64_t index_;
  ids ids_;
  wall_ms now_;
  batch_row noted_;
  batch_outcome outcome_;
};

} // namespace

std::vector<digest> record_hashes(const batch& b) {
  std::vector<digest> hashes;
  for (const auto& e : b.entries)
    if (e.is_record)
      hashes.push_back(e.hash);
  return hashes;
}

batch_outcome apply(tables& t, const batch& b, std::uint64_t raft_index, const history& known) {
  check(raft_index > t.head.applied_index, "entries are applied once, in order");
  return application{t, b, raft_index, known}.run();
}

batch_outcome apply_nothing(tables& t, std::uint64_t raft_index, std::uint64_t term) {
  check(raft_index > t.head.applied_index, "entries are applied once, in order");
  t.head.applied_index = raft_index;
  t.head.applied_term = term;
  batch_outcome outcome;
  row r = t.head;
  outcome.rows.push_back({table_of(r), key_of(r), r});
  return outcome;
}

std::optional<refusal> refuses(const tables& t, const record& r, wall_ms now) {
  auto trial = t;
  change_set c{trial, std::max(now, t.head.stamped_at), t.head.seq + 1, {}, r.author.who, r.trust};
  return rule(c, r);
}

ruling bad_name(std::string_view kind, std::string_view name) {
  constexpr std::size_t longest = limits::key_bytes - 64; // A key may add a prefix and a number.
  auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (!name.empty() && name.size() <= longest && std::ranges::none_of(name, is_control))
    return {};
  return refuse(
    "bad_name",
    "the name of the " + std::string{kind} + " has " + std::to_string(name.size()) + " bytes; 1 to "
      + std::to_string(longest) + " are allowed, without control characters"
  );
}

} // namespace assay::ledger
