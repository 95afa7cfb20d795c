#pragma once
// What other programs may ask of a running agent: `assay-agent adopt` over its unix socket, and a
// monitor over /metrics and /healthz. It turns requests into questions to UPLINK and answers into
// text, and decides nothing.

#include "actors/interfaces_agent.hpp"
#include "node-agent/program/config.hpp"
#include "src/http/service_listener.hpp"

#include <caf/actor_system.hpp>

#include <memory>
#include <string>

namespace assay::agent {

/// `DIR/agent/run.sock`
std::filesystem::path control_socket(const std::filesystem::path& data);

result<std::unique_ptr<http::service_listener>, problem> open_control(
  caf::actor_system& system, const uplink_actor& uplink, const std::filesystem::path& data
);

result<std::unique_ptr<http::service_listener>, problem>
open_monitor(caf::actor_system& system, const uplink_actor& uplink, const monitor_address& where);

/// Asks UPLINK how the agent stands; from any thread that is no actor.
result<status_answer, problem> ask_status(caf::actor_system& system, const uplink_actor& uplink);

/// The agent's own figures and the native samples, as Prometheus text.
std::string metrics_text(const status_answer& status);

/// The body of an adopt request, and back.
std::string to_json(const fabric::adopt_offer& offer);
result<fabric::adopt_offer, problem> parse_offer(const std::string& body);

/// Hands an offer to the agent that runs on `data`. What it is called from now on; the problem says
/// what to do when the coordinator refused it, or no agent runs.
result<implementation_id, problem>
send_offer(const std::filesystem::path& data, const fabric::adopt_offer& offer);

} // namespace assay::agent
