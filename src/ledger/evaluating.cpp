#include "src/ledger/evaluating.hpp"

#include "src/ledger/status.hpp"
#include "src/qualification/drift.hpp"
#include "src/qualification/expiry.hpp"

#include <algorithm>
#include <chrono>

namespace assay::ledger {

namespace {

using qualification::event;
using qualification::state;

unexpected<problem> refuse(problem_kind kind, std::string what, std::string next) {
  return unexpected{problem{kind, std::move(what), {}, std::move(next)}};
}

/// The qualification that a further evaluation would go on with, or null.
const qualification_row*
unfinished(const tables& t, const implementation_id& implementation, const evaluation& e) {
  const qualification_row* last = nullptr;
  for (const auto& [id, row] : *t.qualifications) {
    auto is_same = row.implementation == implementation && row.suite == e.suite
                   && row.manifest == e.manifest && row.profile == e.profile;
    if (is_same && !qualification::is_final(row.state) && (!last || row.seq > last->seq))
      last = &row;
  }
  return last;
}

void open(evaluation& e, const catalog::model& model, const qualification_id& fresh) {
  e.id = fresh;
  e.opening = {
    qualification_opened{fresh, e.implementation, model.evaluation_policy},
    qualification_changed{fresh, event::start, {}, {}},
  };
}

/// Goes on with `row`, as its state asks for.
void go_on(evaluation& e, const qualification_row& row) {
  e.id = row.id;
  e.purpose = evaluation_purpose::again;
  switch (row.state) {
  case state::draft:
    e.opening = {qualification_changed{row.id, event::start, {}, {}}};
    return;
  case state::inconclusive:
    e.opening = {qualification_changed{row.id, event::more_runs, {}, {}}};
    return;
  case state::suspended:
    e.purpose = evaluation_purpose::reverify;
    return;
  case state::qualified:
    e.purpose = evaluation_purpose::extend;
    return;
  default:
    return;
  }
}

result<evaluation, problem>
collect(const tables& t, const catalog::implementation& i, const catalog::model& model) {
  evaluation e{
    .id = {},
    .implementation = i.id,
    .policy = {},
    .suite = {},
    .manifest = {},
    .profile = {},
    .stack = {},
    .opening = {}};
  auto policy = policy_of(t, model.evaluation_policy);
  if (!policy)
    return refuse(
      problem_kind::refused,
      "model '" + model.id.value + "' has no evaluation policy that is declared",
      "declare `policy: " + model.evaluation_policy.value + "` with its suite"
    );
  const auto* suite = find(t.suites, policy->suite);
  if (!suite)
    return refuse(
      problem_kind::refused,
      "the suite '" + policy->suite.value + "' is not declared",
      "apply a file with `suite: " + policy->suite.value + "`"
    );
  auto profile = profile_of(t, i);
  const auto* text = profile ? find(t.profiles, *profile) : nullptr;
  if (!text)
    return refuse(
      problem_kind::refused,
      "implementation '" + i.id.value + "' has no declared runtime profile",
      profile ? "apply a file with `runtime-profile: " + profile->value + "`"
              : "name one with `profile:` in the implementation or its artifact"
    );
  const auto* artifact = find(t.artifacts, i.artifact);
  if (!artifact || !is_artifact_approved(t, i.artifact))
    return refuse(
      problem_kind::unavailable,
      "artifact '" + i.artifact.value + "' is not verified",
      "a host of the pool verifies it before launch; assay describe artifact " + i.artifact.value
        + " says how far it is"
    );
  e.policy = *policy;
  e.suite = suite->what.sha256;
  e.profile = *launch_digest_of(t, i);
  e.manifest = catalog::manifest_digest(artifact->what);
  return e;
}

run_status status_of(const evaluation_outcome& out) {
  return out.aborted ? run_status::aborted : run_status::complete;
}

eval_run run_of(const evaluation& e, const evaluation_outcome& out, run_stage stage) {
  return {
    .id = e.id.value + "." + std::string{name(stage)} + "." + std::to_string(out.ended_at.value),
    .qualification = e.id,
    .implementation = e.implementation,
    .stage = stage,
    .status = status_of(out),
    .suite = e.suite,
    .manifest = e.manifest,
    .profile = e.profile,
    .fingerprint = e.stack.fingerprint,
    .host = e.stack.host,
    .points = {},
    .measures = {},
    .blobs = {out.evidence},
    .started_at = out.started_at,
    .ended_at = out.ended_at,
    .detail = out.why_aborted,
  };
}

eval_run contract_run(const evaluation& e, const evaluation_outcome& out) {
  auto run = run_of(e, out, run_stage::contract);
  for (const auto& check : out.checks) {
    ++run.items;
    run.passed += check.outcome == qualification::outcome::pass;
    run.failed += check.outcome == qualification::outcome::fail;
    run.errors += check.outcome == qualification::outcome::inconclusive;
    if (check.outcome != qualification::outcome::pass && run.detail.empty())
      run.detail = std::string{qualification::name(check.kind)} + ": " + check.why;
  }
  const auto& box = out.envelope;
  if (box.unary)
    run.points.push_back({box.input_tokens, box.output_tokens, 1, false, true});
  if (box.streaming)
    run.points.push_back({box.input_tokens, box.output_tokens, 1, true, true});
  return run;
}

eval_run task_run(const evaluation& e, const evaluation_outcome& out) {
  auto run = run_of(e, out, run_stage::task);
  const auto& counts = out.verdict.counts;
  run.items = counts.answered;
  run.passed = counts.right;
  run.failed = counts.answered - counts.right;
  run.distinct_answers = counts.distinct_answers;
  run.score_ppm = out.verdict.score_ppm;
  // Points may weigh otherwise than items; the ledger wants the bound at or below the score.
  run.score_lower_ppm = std::min(out.verdict.lower_bound_ppm, out.verdict.score_ppm);
  run.confidence_ppm = e.policy.confidence_ppm;
  return run;
}

predicate compare(std::string what, std::int64_t value, std::int64_t bound, std::string unit) {
  auto outcome = value >= bound ? predicate_outcome::pass : predicate_outcome::fail;
  return {std::move(what), value, bound, std::move(unit), outcome};
}

std::vector<predicate> predicates_of(const evaluation& e, const evaluation_outcome& out) {
  const auto& counts = out.verdict.counts;
  std::int64_t passed = 0;
  for (const auto& check : out.checks)
    passed += check.outcome == qualification::outcome::pass;
  return {
    compare("contract_checks", passed, static_cast<std::int64_t>(out.checks.size()), "checks"),
    compare("answered_items", counts.answered, e.policy.items_at_least, "items"),
    compare(
      "distinct_answers", counts.distinct_answers, e.policy.distinct_answers_at_least, "answers"
    ),
    compare("score_lower_bound", out.verdict.lower_bound_ppm, e.policy.score_at_least_ppm, "ppm"),
  };
}

std::string detail_of(const qualification::verdict& v) {
  std::string text;
  for (const auto& reason : v.reasons)
    text += (text.empty() ? "" : "; ") + reason;
  return text;
}

event event_of(const evaluation& e, const evaluation_outcome& out) {
  switch (out.verdict.outcome) {
  case qualification::outcome::pass:
    return e.purpose == evaluation_purpose::reverify ? event::reverify_pass : event::pass;
  case qualification::outcome::fail:
    return event::fail;
  case qualification::outcome::inconclusive:
    break;
  }
  return event::no_evidence;
}

void add_decision(
  std::vector<payload>& to,
  const evaluation& e,
  const evaluation_outcome& out,
  std::vector<std::string> runs
) {
  auto passed = out.verdict.outcome == qualification::outcome::pass;
  auto detail = detail_of(out.verdict);
  if (e.purpose == evaluation_purpose::extend) {
    if (passed)
      to.push_back(qualification_extended{e.id, std::move(runs), predicates_of(e, out), detail});
    return;
  }
  // What is suspended stays so until it passes: a failed attempt is only its runs.
  if (e.purpose == evaluation_purpose::reverify && !passed)
    return;
  to.push_back(qualification_decided{
    .id = e.id,
    .verdict = event_of(e, out),
    .runs = std::move(runs),
    .predicates = predicates_of(e, out),
    .covers = out.envelope,
    .expires_at = {}, // As long as the policy says, from the leader's stamp on.
    .detail = detail,
  });
}

/// A new qualification replaces those that the implementation had before.
void add_superseded(std::vector<payload>& to, const tables& t, const evaluation& e) {
  for (const auto& [id, row] : *t.qualifications) {
    auto holds = row.state == state::qualified || row.state == state::suspended;
    if (row.implementation == e.implementation && id != e.id && holds)
      to.push_back(qualification_changed{id, event::supersede, e.id, "a newer one holds"});
  }
}

} // namespace

result<evaluation, problem> plan_evaluation(
  const tables& t,
  const implementation_id& implementation,
  const evaluated_stack& stack,
  const qualification_id& fresh,
  wall_ms
) {
  const auto* i = find(t.implementations, implementation);
  const auto* model = i ? find(t.models, i->what.model) : nullptr;
  if (!i || !model)
    return refuse(
      problem_kind::not_found,
      "there is no implementation '" + implementation.value + "'",
      "assay get implementations lists them"
    );
  auto e = collect(t, i->what, model->what);
  if (!e)
    return e;
  if (!find(t.stacks, stack.fingerprint))
    return refuse(
      problem_kind::unavailable,
      "the stack of host '" + stack.host.value + "' is not on record yet",
      "try again in a few seconds"
    );
  e->stack = stack;
  const auto* row = unfinished(t, implementation, *e);
  if (!row) {
    open(*e, model->what, fresh);
    return e;
  }
  go_on(*e, *row);
  if (e->purpose == evaluation_purpose::extend && qualification::is_member(stack.fingerprint, row->fingerprints))
    return refuse(
      problem_kind::refused,
      "it is qualified on this very stack (" + row->id.value + ")",
      "revoke that first if it is to be shown anew: assay revoke qualification " + row->id.value
    );
  return e;
}

result<qualification::run_state, problem> prepare_run(const tables& t, const evaluation& e) {
  const auto* i = find(t.implementations, e.implementation);
  const auto* model = i ? find(t.models, i->what.model) : nullptr;
  const auto* document = find(t.suites, e.policy.suite);
  if (!i || !model || !document)
    return refuse(problem_kind::not_found, "a declaration went away meanwhile", "apply it again");
  auto suite = qualification::parse_suite(document->what.name.value, document->what.text);
  if (!suite) {
    auto first = suite.error().front();
    first.what += suite.error().size() > 1
                    ? " (and " + std::to_string(suite.error().size() - 1) + " more)"
                    : "";
    return unexpected{first};
  }
  qualification::subject who{
    .implementation = e.implementation,
    .model = model->what.id.value,
    .promises = model->what.promises,
    .limits = qualification::tighter(model->what.promises.limits, i->what.limits),
    .slots = i->what.slots,
  };
  return qualification::prepare(std::move(who), std::move(*suite), e.policy);
}

payload without_verdict(const qualification_id& id, const std::string& why) {
  return qualification_decided{
    .id = id,
    .verdict = event::no_evidence,
    .runs = {},
    .predicates = {},
    .covers = {},
    .expires_at = {},
    .detail = why,
  };
}

std::vector<payload> conclude(const tables& t, const evaluation& e, const evaluation_outcome& out) {
  std::vector<payload> records{contract_run(e, out)};
  std::vector<std::string> runs{std::get<eval_run>(records.front()).id};
  if (out.verdict.counts.answered > 0) {
    records.push_back(task_run(e, out));
    runs.push_back(std::get<eval_run>(records.back()).id);
  }
  if (out.aborted && e.purpose != evaluation_purpose::first && e.purpose != evaluation_purpose::again)
    return records;
  if (out.aborted) {
    records.push_back(without_verdict(e.id, out.why_aborted));
    return records;
  }
  add_decision(records, e, out, std::move(runs));
  auto is_new = e.purpose == evaluation_purpose::first || e.purpose == evaluation_purpose::again;
  if (is_new && out.verdict.outcome == qualification::outcome::pass)
    add_superseded(records, t, e);
  return records;
}

} // namespace assay::ledger
