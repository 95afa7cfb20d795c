#pragma once
// The eight questions a request must survive before an implementation may serve it.
//
// A gate is pure: it sees one request and one implementation and answers pass or refuse, with the
// numbers that decided. Their order, and the status each turns into, is the table of
// docs/decisions/0003-error-table.md. Evaluation traffic is pinned and skips gates 2, 4, 5 and 7.
// Nothing is ever refused on an estimate: a request that only may be too long is `unsure` and goes
// on to the engine, which knows.

#include "src/contract/errors.hpp"
#include "src/contract/shape.hpp"
#include "src/routing/snapshot.hpp"

#include <string>

namespace assay::routing {

enum class answer : std::uint8_t {
  pass,
  refuse,
  skip,   ///< Evaluation traffic is not asked this question.
  unsure, ///< Gate 3: only the engine's tokenizer knows. Counts as a pass.
  waived, ///< Would have refused; a recorded waiver covers it. Counts as a pass.
};
std::string_view name(answer a);

enum class reason : std::uint8_t {
  fine,
  other_task,
  not_offered,
  streaming_unsupported,
  feature_unsupported,
  artifact_unverified,
  class_not_admitted,
  other_projects_only,
  input_too_long,
  output_too_long,
  context_too_long,
  body_too_large,
  no_envelope,
  input_past_evidence,
  output_past_evidence,
  context_past_evidence,
  streaming_unproven,
  unary_unproven,
  never_evaluated,
  evaluation_expired,
  evaluation_suspended,
  evaluation_revoked,
  no_qualified_host,
  pool_data_class,
  project_data_class,
  cost_unknown,
  cost_stale,
  cost_too_high,
  no_ceiling, ///< Gate 7 passed because no ceiling is set.
  no_replica,
  no_credit,
  queue_first, ///< Somebody waits for the free credit.
  all_tried,
  other_host,    ///< Its replicas serve, but not this ingress.
  all_left_out,  ///< Each of its replicas that serve is left alone for now.
  wait_too_long, ///< Its queue would take longer than the request may wait.
};
std::string_view name(reason r);

/// One gate's answer. `seen` and `allowed` are tokens, bytes, nano-currency, endpoints or
/// milliseconds, as the reason says.
struct verdict {
  routing::gate gate = gate::serves_task;
  routing::answer answer = answer::pass;
  routing::reason reason = reason::fine;
  std::uint64_t seen = 0;
  std::uint64_t allowed = 0;

  bool refuses() const { return answer == answer::refuse; }
  friend bool operator==(const verdict&, const verdict&) = default;
};

/// Who asks. From the key, never from the request.
struct caller {
  contract::traffic_class traffic = contract::traffic_class::interactive;
  std::uint32_t project = none;
  std::uint32_t key = none;
  bool over_own_share = false; ///< The caller's own budget of requests in flight is used up.
};
caller caller_of(const routing_snapshot& s, const key& k);

/// What every gate is shown.
struct question {
  const routing_snapshot& snapshot;
  const routing::model& model;
  const routing::caller& caller;
  const contract::shape& shape;
  std::span<const pool::endpoint_key> tried; ///< Endpoints that already failed this request.
  const digest* fingerprint = nullptr;       ///< Evaluation: only endpoints on this stack.
  steady_time now{};
  wall_ms wall{};
};

verdict serves_task(const question& q, const implementation& i);
verdict artifact_approved(const question& q, const implementation& i);
verdict within_limits(const question& q, const implementation& i);
verdict within_evidence(const question& q, const implementation& i);
verdict evaluation_current(const question& q, const implementation& i);
verdict data_allowed(const question& q, const implementation& i);
verdict economics_acceptable(const question& q, const implementation& i);
verdict has_capacity(const question& q, const implementation& i);

using gate_function = verdict (*)(const question&, const implementation&);
extern const std::array<gate_function, gate_count> gates;

/// The first refusal of gates 1 to 7, or a pass. `waived` collects the gates that only a
/// waiver let through.
verdict judge(const question& q, const implementation& i, bits& waived);

/// This endpoint may be sent this request: ready, admitted, not tried, and on a qualified stack
/// unless it is evaluation traffic or a waiver covers gate 5.
bool may_use(const question& q, const implementation& i, const endpoint& e);

/// The waiver that covers `g` now, or null.
const waiver* waiver_for(const implementation& i, gate g, wall_ms now);

/// The category a refusal turns into on the wire.
contract::failure failure_of(const verdict& v);

/// One sentence for people with the numbers: `input of at least 5,000 tokens, allowed 4,096`.
std::string to_text(const verdict& v);

} // namespace assay::routing
