// Which records the last room of the disks is kept for.

#include "src/ledger/essential.hpp"

#include <catch2/catch_test_macros.hpp>

#include <set>

namespace assay::ledger {

namespace {

struct row {
  payload what;
  bool is_essential;
};

/// Every kind of record, and both sides where its content decides.
std::vector<row> rows() {
  using enum qualification::event;
  std::vector<row> all{
    {cluster_created{}, false},
    {membership{}, true},
    {declared{}, false},
    {retired{}, false},
    {artifact_changed{.to = artifact_state::quarantined}, true},
    {artifact_changed{.to = artifact_state::verified}, false},
    {stack_seen{}, false},
    {eval_run{}, false},
    {qualification_opened{}, false},
    {qualification_decided{}, false},
    {qualification_extended{}, false},
    {waiver{}, false},
    {waiver_ended{}, true},
    {revocation{}, true},
    {move_proposed{}, false},
    {move_proposed{.inverse_of = move_id{"m"}}, true},
    {move_authorised{}, true},
    {move_route_changed{}, true},
    {move_acked{}, true},
    {move_changed{}, true},
    {key_issued{}, false},
    {key_issued{.internal = true}, true},
    {key_revoked{}, true},
    {identity_added{.role = identity_role::coordinator}, true},
    {identity_added{.role = identity_role::ingress}, true},
    {identity_added{.role = identity_role::host}, false},
    {identity_added{.role = identity_role::job_agent}, false},
    {identity_revoked{}, true},
    {token_issued{.role = identity_role::coordinator}, true},
    {token_issued{.role = identity_role::ingress}, true},
    {token_issued{.role = identity_role::host}, false},
    {token_issued{.role = identity_role::job_agent}, false},
    {job_submitted{}, false},
    {job_ended{.end = job_end::cancelled}, true},
    {job_ended{.end = job_end::finished}, false},
    {job_ended{.end = job_end::failed}, false},
    {serving_summary{}, false},
    {cluster_version{}, false},
    {host_standing{.duty = host_duty::draining}, true},
    {host_standing{.duty = host_duty::quarantined}, true},
    {host_standing{.duty = host_duty::in_service}, false},
  };
  const std::set withdrawn{drift, regression, key_compromise, expire, revoke};
  for (auto event : qualification::events)
    all.push_back({qualification_changed{.event = event}, withdrawn.contains(event)});
  return all;
}

} // namespace

TEST_CASE("the last room is kept for what takes back, ends, or mends the group, kind by kind") {
  std::set<std::size_t> kinds;
  for (const auto& one : rows()) {
    INFO("kind " << one.what.index());
    CHECK(is_essential(one.what) == one.is_essential);
    kinds.insert(one.what.index());
  }
  CHECK(kinds.size() == std::variant_size_v<payload>);
}

} // namespace assay::ledger
