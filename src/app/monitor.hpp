#pragma once
// Health and metrics, on a listener of their own: O(1) answers that no application's load can
// delay.

#include "src/app/parts.hpp"
#include "src/http/service_listener.hpp"

namespace assay::app {

/// `/healthz`: the process answers. `/readyz`: it serves and its ledger takes proposals.
/// `/metrics`.
http::service_response
serve_monitor(const parts& p, bool is_ready, const http::service_request& request);

} // namespace assay::app
