#pragma once
// From an implementation to what EVALUATOR runs, and from what came out to the records that say so.
//
// Why an implementation is evaluated follows from its qualification: it never had one, evidence was
// short, it is suspended and has to show again that it holds, or it runs on one more stack. Pure.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/ledger/tables.hpp"
#include "src/qualification/run.hpp"

#include <vector>

namespace assay::ledger {

enum class evaluation_purpose : std::uint8_t {
  first,    ///< A new qualification is opened.
  again,    ///< Begun, or inconclusive: more runs of the same qualification.
  reverify, ///< It is suspended.
  extend,   ///< It holds, and this stack is not in its set yet.
};

/// Where the evaluation's replica runs.
struct evaluated_stack {
  host_id host;
  digest fingerprint;
};

struct evaluation {
  qualification_id id;
  evaluation_purpose purpose = evaluation_purpose::first;
  implementation_id implementation;
  catalog::policy policy;
  digest suite, manifest, profile;
  evaluated_stack stack;
  std::vector<payload> opening; ///< To be on record before the first ask.
};

/// `fresh` names the qualification if one has to be opened. Refused, with what to do, when the
/// implementation, its policy, suite or profile is not declared, its artifact is not verified, its
/// stack is not on record, or nothing would be learnt: it holds on this very stack.
result<evaluation, problem> plan_evaluation(
  const tables& t,
  const implementation_id& implementation,
  const evaluated_stack& stack,
  const qualification_id& fresh,
  wall_ms now
);

/// The run itself, ready for its first event; problems of the suite's text are joined to one.
result<qualification::run_state, problem> prepare_run(const tables& t, const evaluation& e);

/// What came out of it.
struct evaluation_outcome {
  qualification::verdict verdict;
  qualification::envelope envelope;
  std::vector<qualification::check_result> checks;
  digest evidence;
  bool aborted = false; ///< Stopped before its end: no verdict is recorded, only that it ran.
  std::string why_aborted;
  wall_ms started_at, ended_at;
};

/// An evaluation that ended without a verdict: the qualification is inconclusive and says why.
payload without_verdict(const qualification_id& id, const std::string& why);

/// The run records, then the decision, then what it replaces; in this order.
std::vector<payload> conclude(const tables& t, const evaluation& e, const evaluation_outcome& out);

} // namespace assay::ledger
