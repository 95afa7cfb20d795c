#pragma once
// Who may say what to whom inside assay-agent. Every protocol of the agent is declared here and
// nowhere else; assayd's are in actors/interfaces.hpp.
//
//   fabric thread --> UPLINK --order--> RUNTIME (one per replica) --deeds--> worker threads
//                       ^  <--report---/     ^--------deed_done-----------------/
//                       \---- stack and samples --- PROBE (one per family)
//
// Messages never leave the process, so they are plain structs and CAF is told not to serialise
// them. What leaves the process is described in schema/fabric.capnp.

#include "node-agent/families/news.hpp"
#include "node-agent/runtime/life.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/wire/fabric_messages.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

#include <optional>
#include <vector>

namespace assay::agent {

// -- RUNTIME ----------------------------------------------------------------------------------

/// Time to look at the replica. The RUNTIME sends it to itself.
struct look_now {};

/// A deed was done; from a worker thread.
struct deed_done {
  life::event what;
  bool was_look = false;
};

/// The coordinator (or the agent's own end) wants the replica gone.
struct stop_order {
  std::string why;
  std::chrono::milliseconds grace{};
};

/// The host's stack changed: what was reported about the replica is old.
struct report_again {};

/// A RUNTIME carries out the life of one replica and ends with it.
using runtime_actor = caf::typed_actor<
  caf::reacts_to<look_now>,
  caf::reacts_to<deed_done>,
  caf::reacts_to<stop_order>,
  caf::reacts_to<report_again>>;

// -- UPLINK -----------------------------------------------------------------------------------

/// The session with the coordinator that leads, at HOST:PORT, began. There is one at a time.
struct session_began {
  std::string coordinator;
  fabric::welcome welcome;
};
struct session_lost {
  std::string why;
};

/// A command, from the fabric's thread.
struct coordinator_said {
  fabric::coordinator_message message;
};

/// A replica that an earlier agent left running was found in its folder.
struct replica_found {
  std::string directory;
};

/// From `assay-agent adopt`. Answered when the coordinator said what became of the offer.
struct adopt_question {
  fabric::adopt_offer offer;
};
struct adopt_answer {
  result<implementation_id, problem> taken; ///< What it is called from now on.
};

/// Every replica is to end, because the agent ends and was told so. Answered when all have.
struct stop_all {};
struct all_stopped {};

/// How the agent stands: /healthz and /metrics.
struct status_question {};
struct status_answer {
  bool has_session = false;
  std::vector<fabric::replica_report> replicas;
  std::vector<fabric::native_sample> samples;
  std::string draining; ///< Why nothing new is started; empty: it is.
};

/// From the PROBE of a family.
struct family_found {
  catalog::family family = catalog::family::cpu;
  fabric::inventory found; ///< The devices are the family's; the rest is said by `cpu` alone, but
                           ///< for the fingerprint, which is the whole host's.
};
struct family_figures {
  catalog::family family = catalog::family::cpu;
  std::vector<fabric::native_sample> samples;
};
struct family_events {
  catalog::family family = catalog::family::cpu;
  std::vector<fabric::device_event> events;
};

using uplink_actor = caf::typed_actor<
  // From the fabric's threads. Everything known is reported when a session begins.
  caf::reacts_to<session_began>,
  caf::reacts_to<session_lost>,
  caf::reacts_to<coordinator_said>,
  // From main, at the start.
  caf::reacts_to<replica_found>,
  // From a RUNTIME: its replica as it now is.
  caf::reacts_to<fabric::replica_report>,
  // From worker threads: how far a check of an artifact is.
  caf::reacts_to<fabric::artifact_report>,
  // From a PROBE: what the host has of its family, its figures, and what happened to its devices.
  caf::reacts_to<family_found>,
  caf::reacts_to<family_figures>,
  caf::reacts_to<family_events>,
  caf::replies_to<adopt_question>::with<adopt_answer>,
  caf::replies_to<status_question>::with<status_answer>,
  caf::replies_to<stop_all>::with<all_stopped>>;

// -- PROBE ------------------------------------------------------------------------------------

/// Time to ask the family. The PROBE sends it to itself.
struct probe_now {};

/// What the family answered; from a worker thread.
struct family_sampled {
  family_news news;
};
struct family_discovered {
  fabric::inventory inventory;
};

/// A PROBE watches one device family, with a limit on how long it may take to answer.
using probe_actor = caf::typed_actor<
  caf::reacts_to<probe_now>,
  caf::reacts_to<family_sampled>,
  caf::reacts_to<family_discovered>>;

} // namespace assay::agent

#define ASSAY_IN_PROCESS(type) CAF_ALLOW_UNSAFE_MESSAGE_TYPE(assay::type)
ASSAY_IN_PROCESS(agent::look_now)
ASSAY_IN_PROCESS(agent::deed_done)
ASSAY_IN_PROCESS(agent::stop_order)
ASSAY_IN_PROCESS(agent::report_again)
ASSAY_IN_PROCESS(agent::session_began)
ASSAY_IN_PROCESS(agent::session_lost)
ASSAY_IN_PROCESS(agent::coordinator_said)
ASSAY_IN_PROCESS(agent::replica_found)
ASSAY_IN_PROCESS(fabric::replica_report)
ASSAY_IN_PROCESS(fabric::artifact_report)
ASSAY_IN_PROCESS(agent::family_found)
ASSAY_IN_PROCESS(agent::family_figures)
ASSAY_IN_PROCESS(agent::family_events)
ASSAY_IN_PROCESS(agent::adopt_question)
ASSAY_IN_PROCESS(agent::adopt_answer)
ASSAY_IN_PROCESS(agent::status_question)
ASSAY_IN_PROCESS(agent::status_answer)
ASSAY_IN_PROCESS(agent::stop_all)
ASSAY_IN_PROCESS(agent::all_stopped)
ASSAY_IN_PROCESS(agent::probe_now)
ASSAY_IN_PROCESS(agent::family_sampled)
ASSAY_IN_PROCESS(agent::family_discovered)
#undef ASSAY_IN_PROCESS
