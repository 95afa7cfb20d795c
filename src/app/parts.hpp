#pragma once
// Everything that a running assayd is made of, as the admin API reaches it. Owned by
// src/app/node.hpp, which outlives all of it.

#include "actors/interfaces.hpp"
#include "src/app/blob_keeper.hpp"
#include "src/app/forwarding.hpp"
#include "src/app/group.hpp"
#include "src/app/leading.hpp"
#include "src/app/metrics.hpp"
#include "src/app/own_keys.hpp"
#include "src/app/scrub.hpp"
#include "src/app/settings.hpp"
#include "src/app/space.hpp"
#include "src/fabric/hub.hpp"
#include "src/http/ingress_server.hpp"
#include "src/store/blob_store.hpp"
#include "src/store/ledger_engine.hpp"

#include <caf/actor_system.hpp>

#include <filesystem>
#include <string>

namespace assay::app {

struct parts {
  app::settings settings;
  std::filesystem::path data;
  store::ledger_engine* engine = nullptr;
  store::blob_store* blobs = nullptr;
  app::blob_keeper* blob_keeper = nullptr;
  http::ingress_server* ingress = nullptr;
  fabric::hub* hub = nullptr;
  own_keys* keys = nullptr;
  app::metrics* metrics = nullptr;
  std::shared_ptr<pool::endpoint_registry> counters;
  caf::actor_system* actors = nullptr;
  ledger_actor ledger;
  ingress_actor router;
  leading_slot lead;
  const app::scrub* scrub = nullptr;
  const app::space_watch* space = nullptr;
  app::group* group = nullptr;           ///< Null in a standalone.
  app::forwarding* forwarding = nullptr; ///< Null in a standalone.
  std::string base_url;                  ///< Of the ingress, `http://IP:PORT/v1`.
};

} // namespace assay::app
