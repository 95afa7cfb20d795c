#pragma once
// Health and metrics, on a listener of their own: O(1) answers that no application's load can
// delay. It answers from the first moment of a process to nearly the last.

#include "src/app/parts.hpp"
#include "src/http/service_listener.hpp"

namespace assay::app {

enum class stage : std::uint8_t { starting, serving, stopping };

/// Of the process itself; what else counts is in its parts, which are whole from `serving` on.
struct monitor_view {
  app::stage stage = stage::starting;
  bool had_leader = false; ///< Since the process began.
};

/// `/healthz`: the process answers. `/readyz`: requests may be sent here. `/metrics`.
http::service_response
serve_monitor(const parts& p, const monitor_view& now, const http::service_request& request);

/// The same of an assayd that belongs to no cluster yet.
http::service_response serve_waiting_monitor(const http::service_request& request);

} // namespace assay::app
