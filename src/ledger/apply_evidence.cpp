// What was seen: artifacts, stacks, runs; and the exceptions that people make.

#include "src/base/limits.hpp"
#include "src/ledger/changes.hpp"
#include "src/ledger/chronicle.hpp"
#include "src/ledger/status.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace assay::ledger {

namespace {

struct artifact_step {
  artifact_state from;
  artifact_state to;
};

constexpr std::array artifact_steps{
  artifact_step{artifact_state::registered, artifact_state::present},
  artifact_step{artifact_state::present, artifact_state::verified},
  artifact_step{artifact_state::verified, artifact_state::deprecated},
  artifact_step{artifact_state::verified, artifact_state::quarantined},
  artifact_step{artifact_state::quarantined, artifact_state::verified},
  artifact_step{artifact_state::quarantined, artifact_state::tombstoned},
  artifact_step{artifact_state::deprecated, artifact_state::tombstoned},
};

std::string legal_after(artifact_state from) {
  std::string list;
  for (const auto& step : artifact_steps)
    if (step.from == from)
      list += (list.empty() ? "" : ", ") + std::string{name(step.to)};
  return list.empty() ? "nothing" : list;
}

/// An adopted server has no bytes of ours to check: an operator's word raises its trust in place.
bool is_approval(const change_set& c, const artifact_row& row, const artifact_changed& p) {
  auto* a = find(c.tables.artifacts, p.artifact);
  return a && a->what.kind == catalog::artifact_kind::adopted
         && row.state == artifact_state::verified && p.to == artifact_state::verified
         && c.trust > row.trust;
}

ruling bad_step(const change_set& c, const artifact_row& row, const artifact_changed& p) {
  auto fits = [&](const artifact_step& s) { return s.from == row.state && s.to == p.to; };
  if (std::ranges::any_of(artifact_steps, fits) || is_approval(c, row, p))
    return {};
  return refuse(
    "not_allowed",
    "artifact " + in_quotes(p.artifact.value) + " is " + std::string{name(row.state)}
      + " and cannot become " + std::string{name(p.to)} + "; what may follow is "
      + legal_after(row.state)
  );
}

/// A tombstone may not stand where traffic or a way back still leads.
ruling needed(const change_set& c, const artifact_id& artifact) {
  auto uses = [&](const moves::vectors& v) {
    return std::ranges::any_of(moves::carriers(v), [&](const implementation_id& id) {
      auto* i = find(c.tables.implementations, id);
      return i && i->what.artifact == artifact;
    });
  };
  for (const auto& [model, row] : *c.tables.routes)
    if (uses(row.route.carried))
      return refuse("in_use", "the route of model " + in_quotes(model.value) + " still uses it");
  for (const auto& [id, row] : *c.tables.moves)
    if (moves::is_open(row.state) && (uses(row.plan.inverse.target) || uses(row.plan.after)))
      return refuse("in_use", "the open move " + in_quotes(id.value) + " still names it");
  return {};
}

ruling bad_counts(const eval_run& p) {
  constexpr std::uint32_t all = 1'000'000;
  if (std::uint64_t{p.passed} + p.failed + p.errors > p.items)
    return refuse("bad_run", "a run cannot have more results than items");
  if (p.score_ppm > all || p.score_lower_ppm > all || p.confidence_ppm > all)
    return refuse("bad_run", "scores and confidence are parts per million");
  if (p.score_lower_ppm > p.score_ppm)
    return refuse("bad_run", "the lower bound of a score is not above the score");
  for (const auto& m : p.measures)
    if (m.unit.empty())
      return refuse("bad_run", "the measure " + in_quotes(m.name) + " has no unit");
  return {};
}

/// A run counts for the qualification it was made for, and for nothing else.
ruling bad_tuple(const change_set& c, const eval_run& p) {
  auto* q = find(c.tables.qualifications, p.qualification);
  if (!q)
    return refuse("not_found", "there is no qualification " + in_quotes(p.qualification.value));
  if (qualification::is_final(q->state) || q->state == qualification::state::draft)
    return refuse(
      "not_allowed",
      "qualification " + in_quotes(p.qualification.value) + " is "
        + std::string{qualification::name(q->state)} + " and takes no runs"
    );
  if (q->implementation != p.implementation || q->suite != p.suite || q->manifest != p.manifest || q->profile != p.profile)
    return refuse(
      "wrong_tuple",
      "the run is of another implementation, suite, artifact or profile than qualification "
        + in_quotes(p.qualification.value)
    );
  if (!find(c.tables.stacks, p.fingerprint))
    return refuse(
      "unknown_stack",
      "the stack " + to_text(p.fingerprint) + " was never recorded; record what the host runs first"
    );
  return {};
}

ruling bad_gates(const waiver& p) {
  auto waivable = [](std::uint8_t gate) { return gate == 2 || gate == 4 || gate == 5; };
  if (!p.gates.empty() && std::ranges::all_of(p.gates, waivable))
    return {};
  return refuse(
    "bad_waiver", "a waiver names at least one gate, of 2 (artifact), 4 (evidence), 5 (evaluation)"
  );
}

} // namespace

ruling change(change_set& c, const artifact_changed& p) {
  auto* row = find(c.tables.artifact_states, p.artifact);
  if (!row || !find(c.tables.artifacts, p.artifact))
    return refuse("not_found", "there is no artifact " + in_quotes(p.artifact.value));
  if (row->manifest != p.manifest)
    return refuse(
      "stale_manifest",
      "the artifact " + in_quotes(p.artifact.value) + " is declared with manifest "
        + to_text(row->manifest) + "; the report is about " + to_text(p.manifest)
    );
  if (auto why = bad_step(c, *row, p))
    return why;
  if (p.to == artifact_state::verified && find(c.tables.revocations, p.manifest))
    return refuse("revoked", "the manifest " + to_text(p.manifest) + " is revoked");
  if (p.to == artifact_state::tombstoned)
    if (auto why = needed(c, p.artifact))
      return why;
  auto next = *row;
  next.state = p.to;
  next.trust = c.trust;
  next.host = p.host;
  next.detail = p.detail;
  next.seq = c.seq;
  c.put(next);
  return {};
}

ruling change(change_set& c, const stack_seen& p) {
  if (auto why = bad_name("host", p.host.value))
    return why;
  if (p.fingerprint == digest{} || p.fields.empty() || !std::ranges::is_sorted(p.fields))
    return refuse("bad_stack", "a stack is a digest and its named fields, sorted by name");
  auto* known = find(c.tables.stacks, p.fingerprint);
  if (known && known->fields != p.fields)
    return refuse(
      "bad_stack", "the digest " + to_text(p.fingerprint) + " was recorded with other fields"
    );
  auto* host = find(c.tables.hosts, p.host);
  if (host && host->fingerprint == p.fingerprint && host->pool == p.pool)
    return refuse("unchanged", "host " + in_quotes(p.host.value) + " is known to run this stack");
  host_row next{p.host, p.pool, p.fingerprint, {}, c.now, c.seq};
  if (host)
    next.previous = host->fingerprint == p.fingerprint ? host->previous : host->fingerprint;
  if (!known)
    c.put(stack_row{p.fingerprint, p.fields, c.seq});
  c.put(next);
  return {};
}

ruling change(change_set& c, const eval_run& p) {
  if (auto why = bad_name("run", p.id))
    return why;
  if (find(c.tables.runs, p.id))
    return refuse("exists", "the run " + in_quotes(p.id) + " is recorded already");
  if (auto why = bad_tuple(c, p))
    return why;
  if (auto why = bad_counts(p))
    return why;
  c.put(run_row{p, c.record, c.seq});
  return {};
}

ruling change(change_set& c, const waiver& p) {
  if (auto why = bad_name("waiver", p.id))
    return why;
  if (find(c.tables.waivers, p.id))
    return refuse("exists", "the waiver " + in_quotes(p.id) + " was granted before");
  if (!find(c.tables.implementations, p.implementation))
    return refuse("not_found", "there is no implementation " + in_quotes(p.implementation.value));
  if (auto why = bad_gates(p))
    return why;
  auto longest = std::chrono::milliseconds{limits::waiver_life}.count();
  if (p.expires_at <= c.now || p.expires_at.value > c.now.value + longest)
    return refuse("bad_waiver", "a waiver ends within 24 hours from now");
  if (p.reason.empty())
    return refuse("bad_waiver", "a waiver gives its reason");
  c.about(indexes::waiver_of, p.implementation.value);
  c.put(waiver_row{p, c.author, c.now, false, c.seq});
  return {};
}

ruling change(change_set& c, const waiver_ended& p) {
  auto* row = find(c.tables.waivers, p.id);
  if (!row)
    return refuse("not_found", "there is no waiver " + in_quotes(p.id));
  if (row->ended)
    return refuse("unchanged", "the waiver " + in_quotes(p.id) + " has ended already");
  auto next = *row;
  next.ended = true;
  next.seq = c.seq;
  c.about("implementation", row->waiver.implementation.value);
  c.put(next);
  return {};
}

ruling change(change_set& c, const revocation& p) {
  if (p.what == digest{})
    return refuse("bad_revocation", "a revocation names a digest");
  if (find(c.tables.revocations, p.what))
    return refuse("unchanged", to_text(p.what) + " is revoked already");
  c.put(revocation_row{p, c.seq});
  if (p.target != revocation_target::artifact)
    return {};
  auto states = c.tables.artifact_states.share(); // Of before: `put` changes the table below.
  for (const auto& [id, row] : *states) {
    if (row.manifest != p.what || row.state != artifact_state::verified)
      continue;
    auto next = row;
    next.state = artifact_state::quarantined;
    next.detail = "revoked";
    next.seq = c.seq;
    c.about("artifact", id.value);
    c.put(next);
  }
  return {};
}

} // namespace assay::ledger
