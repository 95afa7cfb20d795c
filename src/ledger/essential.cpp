#include "src/ledger/essential.hpp"

#include "src/base/overloaded.hpp"

namespace assay::ledger {

namespace {

bool is_of_the_group(identity_role role) {
  return role == identity_role::coordinator || role == identity_role::ingress;
}

/// What takes a qualification's word back, for now or for good.
bool withdraws(qualification::event what) {
  using enum qualification::event;
  return what == drift || what == regression || what == key_compromise || what == expire
         || what == revoke;
}

} // namespace

bool is_essential(const payload& what) {
  return std::visit(
    overloaded{
      // Somebody with a larger disk may come, and whoever is full may go.
      [](const membership&) { return true; },
      [](const identity_added& p) { return is_of_the_group(p.role); },
      [](const token_issued& p) { return is_of_the_group(p.role); },
      // Who is not to be trusted any more.
      [](const identity_revoked&) { return true; },
      [](const key_revoked&) { return true; },
      [](const revocation&) { return true; },
      [](const waiver_ended&) { return true; },
      [](const host_standing& p) { return p.duty != host_duty::in_service; },
      [](const qualification_changed& p) { return withdraws(p.event); },
      [](const artifact_changed& p) { return p.to == artifact_state::quarantined; },
      [](const job_ended& p) { return p.end == job_end::cancelled; },
      // A leader's own, once in its term: without them its suites and jobs stand still.
      [](const key_issued& p) { return p.internal; },
      // A move that is open goes on or back and ends, and one that was committed is undone by
      // another one.
      [](const move_proposed& p) { return p.inverse_of.has_value(); },
      [](const move_authorised&) { return true; },
      [](const move_route_changed&) { return true; },
      [](const move_acked&) { return true; },
      [](const move_changed&) { return true; },
      // All else waits for room.
      [](const cluster_created&) { return false; },
      [](const declared&) { return false; },
      [](const retired&) { return false; },
      [](const stack_seen&) { return false; },
      [](const eval_run&) { return false; },
      [](const qualification_opened&) { return false; },
      [](const qualification_decided&) { return false; },
      [](const qualification_extended&) { return false; },
      [](const waiver&) { return false; },
      [](const job_submitted&) { return false; },
      [](const serving_summary&) { return false; },
      [](const cluster_version&) { return false; },
    },
    what
  );
}

} // namespace assay::ledger
