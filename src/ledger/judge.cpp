#include "src/ledger/judge.hpp"

namespace assay::ledger {

namespace {

using wrong = std::string; ///< Empty: nothing is.

wrong bad_run(const qualification_row& q, const run_row& row, const pass_claim& claim) {
  const auto& run = row.run;
  auto which = "run \"" + run.id + "\" ";
  if (run.qualification != q.id)
    return which + "belongs to qualification \"" + run.qualification.value + "\"";
  if (run.status != run_status::complete)
    return which + "is " + std::string{name(run.status)} + "; only complete runs count";
  if (row.seq <= claim.later_than_seq)
    return which + "is older than the suspension; run again";
  return {};
}

wrong bad_predicates(const std::vector<predicate>& predicates) {
  for (const auto& p : predicates) {
    if (p.unit.empty())
      return "the predicate \"" + p.name + "\" has no unit";
    if (p.outcome != predicate_outcome::pass)
      return "the predicate \"" + p.name + "\" says " + std::string{name(p.outcome)}
             + ", which is not a pass";
  }
  return {};
}

/// The policy's thresholds against one scored run, in whole numbers.
wrong below_policy(const catalog::policy& policy, const eval_run& run) {
  auto answered = run.passed + run.failed;
  auto says = [&](std::string_view what, std::uint32_t seen, std::uint32_t wanted) {
    return "run \"" + run.id + "\" has " + std::string{what} + " " + std::to_string(seen)
           + "; policy \"" + policy.name.value + "\" wants at least " + std::to_string(wanted);
  };
  if (answered < policy.items_at_least)
    return says("answered items", answered, policy.items_at_least);
  if (run.distinct_answers < policy.distinct_answers_at_least)
    return says("distinct answers", run.distinct_answers, policy.distinct_answers_at_least);
  if (run.confidence_ppm < policy.confidence_ppm)
    return says("confidence (ppm)", run.confidence_ppm, policy.confidence_ppm);
  if (run.score_lower_ppm < policy.score_at_least_ppm)
    return says("lower score bound (ppm)", run.score_lower_ppm, policy.score_at_least_ppm);
  return {};
}

} // namespace

result<digest, std::string>
carried_by(const tables& t, const qualification_row& q, const pass_claim& claim) {
  if (auto why = bad_predicates(claim.predicates); !why.empty())
    return unexpected{why};
  const eval_run* scored = nullptr;
  const eval_run* first = nullptr;
  for (const auto& id : claim.runs) {
    auto* row = find(t.runs, id);
    if (!row)
      return unexpected{"there is no run \"" + id + "\""};
    if (auto why = bad_run(q, *row, claim); !why.empty())
      return unexpected{why};
    if (first && row->run.fingerprint != first->fingerprint)
      return unexpected{"runs \"" + first->id + "\" and \"" + id + "\" ran on different stacks"};
    first = first ? first : &row->run;
    if (row->run.stage != run_stage::task)
      continue;
    if (auto why = below_policy(q.policy, row->run); !why.empty())
      return unexpected{why};
    scored = &row->run;
  }
  if (!scored)
    return unexpected{std::string{"no complete run of the task stage is named"}};
  if (find(t.revocations, first->fingerprint))
    return unexpected{"the stack " + to_text(first->fingerprint) + " is revoked"};
  return first->fingerprint;
}

} // namespace assay::ledger
