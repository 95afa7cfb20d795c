// The life of a qualification; its transitions are src/qualification/life.hpp's.

#include "src/base/limits.hpp"
#include "src/ledger/changes.hpp"
#include "src/ledger/chronicle.hpp"
#include "src/ledger/judge.hpp"
#include "src/ledger/status.hpp"

#include <algorithm>
#include <chrono>

namespace assay::ledger {

namespace {

using qualification::event;
using qualification::state;

constexpr auto clock_slack_ms = 60'000; ///< What an asker's clock may be ahead of the leader's.

bool is_verdict(event e) {
  return e == event::pass || e == event::fail || e == event::no_evidence
         || e == event::reverify_pass;
}

std::string legal_after(state from) {
  std::string list;
  for (auto e : qualification::events)
    if (qualification::next(from, e))
      list += (list.empty() ? "" : ", ") + std::string{qualification::name(e)};
  return list.empty() ? "nothing" : list;
}

refusal not_allowed(const qualification_row& q, std::string_view what) {
  return {
    "not_allowed",
    "qualification " + in_quotes(q.id.value) + " is " + std::string{qualification::name(q.state)}
      + "; " + std::string{what} + " cannot follow, only " + legal_after(q.state)};
}

refusal unknown(const qualification_id& id) {
  return {"not_found", "there is no qualification " + in_quotes(id.value)};
}

/// A stack joins the sorted set.
void add_stack(qualification_row& q, const digest& fingerprint) {
  auto at = std::ranges::lower_bound(q.fingerprints, fingerprint);
  if (at == q.fingerprints.end() || *at != fingerprint)
    q.fingerprints.insert(at, fingerprint);
}

void put_changed(change_set& c, qualification_row next) {
  next.seq = c.seq;
  c.about("implementation", next.implementation.value);
  c.about(indexes::qualification_of, next.implementation.value);
  c.put(std::move(next));
}

/// When a pass ends: as asked, or after the policy's time; never later than the policy allows.
result<wall_ms, refusal> expiry(const change_set& c, const qualification_row& q, wall_ms asked) {
  auto longest = c.now.value + std::chrono::milliseconds{q.policy.valid_for}.count();
  if (asked == wall_ms{})
    return wall_ms{longest};
  if (asked <= c.now || asked.value > longest + clock_slack_ms)
    return unexpected{refusal{
      "bad_expiry",
      "a pass under policy " + in_quotes(q.policy.name.value) + " holds for at most "
        + std::to_string(q.policy.valid_for.count()) + " s from now"}};
  return asked;
}

/// A pass, first or after a suspension: the records have to carry it.
ruling pass(change_set& c, qualification_row& next, const qualification_decided& p) {
  auto* i = find(c.tables.implementations, next.implementation);
  if (!i || !is_artifact_approved(c.tables, i->what.artifact))
    return refuse("not_approved", "the artifact is not verified, or is revoked");
  auto later_than = p.verdict == event::reverify_pass ? next.suspended_seq : 0;
  auto fingerprint = carried_by(c.tables, next, {p.runs, p.predicates, later_than});
  if (!fingerprint)
    return refuse("contradicted", fingerprint.error());
  auto until = expiry(c, next, p.expires_at);
  if (!until)
    return until.error();
  add_stack(next, *fingerprint);
  next.expires_at = *until;
  next.covers = p.covers;
  return {};
}

ruling bad_time(const change_set& c, const qualification_row& q) {
  if (c.now >= q.expires_at)
    return {};
  return refuse(
    "not_yet",
    "qualification " + in_quotes(q.id.value) + " expires at " + std::to_string(q.expires_at.value)
      + " ms; it is " + std::to_string(c.now.value)
  );
}

ruling bad_successor(
  const change_set& c, const qualification_row& q, const std::optional<qualification_id>& by
) {
  auto* newer = by ? find(c.tables.qualifications, *by) : nullptr;
  if (newer && newer->state == state::qualified && newer->implementation == q.implementation
      && newer->decided_at >= q.decided_at && newer->id != q.id)
    return {};
  return refuse(
    "bad_successor",
    "a qualification is superseded by a newer one of the same implementation that holds"
  );
}

ruling bad_attempt(const qualification_row& q, event e) {
  if ((e != event::start && e != event::more_runs) || q.attempts < limits::qualification_attempts)
    return {};
  return refuse(
    "attempts_spent",
    "qualification " + in_quotes(q.id.value) + " was evaluated " + std::to_string(q.attempts)
      + " times without a verdict; give it up and open a new one"
  );
}

} // namespace

ruling change(change_set& c, const qualification_opened& p) {
  if (auto why = bad_name("qualification", p.id.value))
    return why;
  if (find(c.tables.qualifications, p.id))
    return refuse("exists", "the qualification " + in_quotes(p.id.value) + " was opened before");
  auto* i = find(c.tables.implementations, p.implementation);
  if (!i)
    return refuse("not_found", "there is no implementation " + in_quotes(p.implementation.value));
  auto policy = policy_of(c.tables, p.policy);
  if (!policy)
    return refuse("not_found", "there is no policy and no suite " + in_quotes(p.policy.value));
  auto* suite = find(c.tables.suites, policy->suite);
  if (!suite)
    return refuse("not_found", "there is no suite " + in_quotes(policy->suite.value));
  auto profile = profile_of(c.tables, i->what);
  auto* text = profile ? find(c.tables.profiles, *profile) : nullptr;
  if (!text)
    return refuse(
      "not_found",
      "implementation " + in_quotes(p.implementation.value) + " has no declared profile"
    );
  if (!is_artifact_approved(c.tables, i->what.artifact))
    return refuse(
      "not_approved", "artifact " + in_quotes(i->what.artifact.value) + " is not verified"
    );
  auto* declared = find(c.tables.policies, p.policy);
  qualification_row q;
  q.id = p.id;
  q.implementation = p.implementation;
  q.policy = *policy;
  q.policy_record = declared ? declared->record : suite->record;
  q.suite = suite->what.sha256;
  q.manifest = find(c.tables.artifact_states, i->what.artifact)->manifest;
  q.profile = *launch_digest_of(c.tables, i->what);
  q.opened_at = c.now;
  put_changed(c, std::move(q));
  return {};
}

ruling change(change_set& c, const qualification_decided& p) {
  auto* q = find(c.tables.qualifications, p.id);
  if (!q)
    return unknown(p.id);
  auto to = qualification::next(q->state, p.verdict);
  if (!is_verdict(p.verdict) || !to)
    return not_allowed(*q, qualification::name(p.verdict));
  auto next = *q;
  if (*to == state::qualified)
    if (auto why = pass(c, next, p))
      return why;
  next.state = *to;
  next.runs = p.runs;
  next.predicates = p.predicates;
  next.detail = p.detail;
  next.decided_at = c.now;
  put_changed(c, std::move(next));
  return {};
}

ruling change(change_set& c, const qualification_changed& p) {
  auto* q = find(c.tables.qualifications, p.id);
  if (!q)
    return unknown(p.id);
  auto to = qualification::next(q->state, p.event);
  if (is_verdict(p.event) || !to)
    return not_allowed(*q, qualification::name(p.event));
  if (auto why = bad_attempt(*q, p.event))
    return why;
  if (p.event == event::expire)
    if (auto why = bad_time(c, *q))
      return why;
  if (p.event == event::supersede)
    if (auto why = bad_successor(c, *q, p.by))
      return why;
  auto next = *q;
  next.state = *to;
  next.detail = p.detail;
  if (*to == state::evaluating)
    ++next.attempts;
  if (*to == state::suspended)
    next.suspended_seq = c.seq;
  if (p.event == event::supersede)
    next.superseded_by = p.by;
  put_changed(c, std::move(next));
  return {};
}

ruling change(change_set& c, const qualification_extended& p) {
  auto* q = find(c.tables.qualifications, p.id);
  if (!q)
    return unknown(p.id);
  if (q->state != state::qualified)
    return not_allowed(*q, "one more stack");
  auto fingerprint = carried_by(c.tables, *q, {p.runs, p.predicates, 0});
  if (!fingerprint)
    return refuse("contradicted", fingerprint.error());
  auto next = *q;
  add_stack(next, *fingerprint);
  if (next.fingerprints == q->fingerprints)
    return refuse("unchanged", "the qualification holds on this stack already");
  next.detail = p.detail;
  put_changed(c, std::move(next));
  return {};
}

} // namespace assay::ledger
