#include "src/wire/peer_messages.hpp"

#include "src/base/check.hpp"

namespace assay::peers {

namespace {

template <class... Kinds>
bool is_any_of(const message& what) {
  return (std::holds_alternative<Kinds>(what) || ...);
}

} // namespace

lane lane_of(const message& what) {
  if (is_any_of<state_request, state_page, admin_ask, admin_answer>(what))
    return lane::bulk;
  if (is_any_of<blob_offer, blob_want, blob_page, blob_kept>(what))
    return lane::bulk;
  if (is_any_of<ingress_hello, ingress_report, ticket_ask, ticket_withdraw>(what))
    return lane::service;
  if (is_any_of<pools_now, pool_state, lease, ticket_admit, ticket_refuse, clock_told>(what))
    return lane::service;
  if (is_any_of<service_told, service_kept, sync_told, disk_told>(what))
    return lane::service;
  return lane::consensus;
}

std::string_view name(lane which) {
  switch (which) {
  case lane::consensus:
    return "consensus";
  case lane::bulk:
    return "bulk";
  case lane::service:
    return "service";
  }
  check(false, "a lane has a name");
  return {};
}

std::string_view name(closing_reason reason) {
  switch (reason) {
  case closing_reason::shutting_down:
    return "shutting_down";
  case closing_reason::superseded:
    return "superseded";
  case closing_reason::revoked:
    return "revoked";
  case closing_reason::protocol:
    return "protocol";
  case closing_reason::other_cluster:
    return "other_cluster";
  case closing_reason::other_node:
    return "other_node";
  case closing_reason::other_disk:
    return "other_disk";
  }
  check(false, "a closing_reason has a name");
  return {};
}

} // namespace assay::peers
