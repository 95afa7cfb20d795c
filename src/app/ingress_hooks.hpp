#pragma once
// What HTTP threads tell the INGRESS, as the functions that the ingress server wants.

#include "actors/interfaces.hpp"
#include "src/http/ingress_server.hpp"

namespace assay::app {

/// `router` outlives the HTTP threads.
http::ingress_hooks hooks_to(const ingress_actor& router);

} // namespace assay::app
