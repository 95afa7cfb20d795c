#include "src/wire/peer_messages.hpp"

#include "src/base/check.hpp"

namespace assay::peers {

lane lane_of(const message& what) {
  bool is_bulk =
    std::holds_alternative<state_request>(what) || std::holds_alternative<state_page>(what);
  return is_bulk ? lane::bulk : lane::consensus;
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
