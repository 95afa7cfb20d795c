#pragma once
// Who may say what to whom inside assayd. Every protocol is declared here and nowhere else; the
// agent's are in actors/interfaces_agent.hpp, those that stand for other assayd in
// actors/interfaces_peers.hpp.
//
// clang-format off
//   LEDGER --tables_changed--> everybody;  whoever decides --propose--> LEDGER
//   agent --fabric--> NODE LINK --host and replica events--> POOL COORDINATOR --start, stop--> NODE LINK
//   POOL COORDINATOR --pool_changed, lease, ticket--> INGRESS --snapshot--> HTTP threads --outcomes, tickets--> INGRESS
//   EVALUATOR, MOVER, JOB QUEUE listen to tables and pools; DISPATCHER works for JOB QUEUE
//   SUPERVISOR makes POOL COORDINATORs and NODE LINKs and introduces them to each other
// clang-format on
//
// Messages between actors never leave the process, so they are plain structs and CAF is told not to
// serialise them. What does leave the process is described in schema/ and nowhere else.

#include "src/jobs/checkpoint.hpp"
#include "src/jobs/job.hpp"
#include "src/ledger/moving.hpp"
#include "src/ledger/record.hpp"
#include "src/ledger/tables.hpp"
#include "src/moves/plan.hpp"
#include "src/pool/events.hpp"
#include "src/pool/view.hpp"
#include "src/qualification/exchange.hpp"
#include "src/qualification/run.hpp"
#include "src/routing/explain.hpp"
#include "src/routing/outcome.hpp"
#include "src/store/state_machine.hpp"
#include "src/wire/fabric_messages.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

namespace assay {

// -- shared

/// The newest committed tables; they never change again.
struct tables_changed {
  std::shared_ptr<const ledger::tables> tables;
  std::uint64_t epoch = 0; ///< The Raft term.
};

/// A pool's new state, from its POOL COORDINATOR.
struct pool_changed {
  std::shared_ptr<const pool::pool_view> view;
};

/// Whoever wants to hear of new tables.
using tables_listener = caf::typed_actor<caf::reacts_to<tables_changed>>;

/// Whoever wants to hear of pools.
using pool_listener = caf::typed_actor<caf::reacts_to<pool_changed>>;

/// Time passed. Every actor that has deadlines sends it to itself.
struct tick {};

// -- LEDGER

/// Asks for a record or a state entry. `time_driven` proposals are refused while the clock is not
/// trusted.
struct propose {
  std::variant<ledger::record, ledger::state_entry> what;
  bool time_driven = false;
};

/// Durable and applied, or why not.
struct proposed {
  store::answer answer;
};

struct listen_to_tables {
  tables_listener who;
};

/// The engine answered the proposal of that number. From the engine's threads.
struct proposal_answered {
  std::uint64_t number = 0;
  store::answer answer;
};

using ledger_actor = caf::typed_actor<
  // Puts a record on the ledger.
  caf::replies_to<propose>::with<proposed>,
  caf::reacts_to<proposal_answered>,
  // The engine committed a new state.
  caf::reacts_to<tables_changed>,
  // Sends every new state to `who`, beginning with the present one.
  caf::reacts_to<listen_to_tables>>;

// -- NODE LINK

/// What the link's agent said; the session is the hello's.
struct agent_said {
  std::uint64_t session = 0;
  fabric::agent_message message;
};

/// The agent is gone. Its link stays, and goes on with it under a newer session.
struct agent_lost {
  std::uint64_t session = 0;
  std::string reason;
};

/// One host as `assay describe host` shows it.
struct host_question {};
struct host_answer {
  host_id host;
  std::uint64_t session = 0;
  bool connected = false;
  fabric::inventory inventory;
  std::vector<fabric::native_sample> samples;
  std::map<std::uint64_t, fabric::replica_report> reports; ///< By generation.
  std::vector<fabric::device_event> events;                ///< The newest, oldest first.
};

using node_link_actor = caf::typed_actor<
  // From the fabric's thread.
  caf::reacts_to<agent_said>,
  caf::reacts_to<agent_lost>,
  // From a POOL COORDINATOR: start or stop a replica on this host.
  caf::reacts_to<pool::start_replica>,
  caf::reacts_to<pool::stop_replica>,
  // Profiles, artifacts and drained hosts may have changed.
  caf::reacts_to<tables_changed>,
  // The pools that exist now; hosts are reported to those they belong to.
  caf::reacts_to<struct pools_known>,
  caf::replies_to<host_question>::with<host_answer>>;

// -- POOL COORDINATOR

/// A host's link introduces itself, so that the pool can answer it.
struct link_up {
  host_id host;
  node_link_actor link;
};

struct listen_to_pool {
  pool_listener who;
};

/// The pool as it is now.
struct pool_question {};

/// An ingress introduces itself; leases and tickets are sent to it.
struct ingress_up;

using pool_actor = caf::typed_actor<
  // What hosts, replicas and ingresses report. Late and repeated events are harmless.
  caf::reacts_to<pool::event>,
  caf::reacts_to<link_up>,
  caf::reacts_to<ingress_up>,
  caf::reacts_to<listen_to_pool>,
  // What is wanted of the pool may have changed.
  caf::reacts_to<tables_changed>,
  caf::replies_to<pool_question>::with<pool_changed>,
  caf::reacts_to<tick>>;

/// The pools that exist now, by name.
struct pools_known {
  std::map<pool_id, pool_actor> pools;
};

// -- INGRESS

/// What the HTTP threads did, in batches.
struct outcomes {
  std::vector<routing::outcome> all;
};

/// A request that found no credit, from an HTTP thread. `answer` may be called from any thread,
/// once.
struct ticket_wanted {
  pool::ticket_asked ticket;
  std::function<void(std::variant<pool::admit_ticket, pool::refuse_ticket>)> answer;
};

struct ticket_dropped {
  std::uint64_t ticket = 0;
};

/// The credit that an admission promised is in use.
struct ticket_settled {
  std::uint64_t ticket = 0;
};

/// A hypothetical request.
struct explain_question {
  std::string model;
  std::string key; ///< A key's name; empty: a key of the default project.
  contract::shape shape;
  std::optional<contract::operation>
    operation; ///< None: what the model's task is usually asked by.
};
struct explain_answer {
  result<routing::explanation, problem> what;
};

/// Which tables ingresses route by: INGRESS speaks of itself, SERVICE LINKS of those of other
/// processes that it has heard of. INGRESS also says what serves and is out of its reach.
struct routes_question {};
struct routes_answer {
  std::vector<ledger::ingress_runs> ingresses;
  std::vector<std::string> out_of_reach;
};

/// No request comes any more: what was served in the hour that is not over is told now.
struct end_service {};
struct service_ended {};

using ingress_actor = caf::typed_actor<
  caf::reacts_to<tables_changed>,
  caf::reacts_to<pool_changed>,
  caf::reacts_to<pools_known>,
  // From POOL COORDINATORs.
  caf::reacts_to<pool::grant_lease>,
  caf::reacts_to<pool::admit_ticket>,
  caf::reacts_to<pool::refuse_ticket>,
  // From HTTP threads.
  caf::reacts_to<outcomes>,
  caf::reacts_to<ticket_wanted>,
  caf::reacts_to<ticket_dropped>,
  caf::reacts_to<ticket_settled>,
  caf::replies_to<explain_question>::with<explain_answer>,
  caf::replies_to<routes_question>::with<routes_answer>,
  caf::replies_to<end_service>::with<service_ended>,
  caf::reacts_to<tick>>;

struct ingress_up {
  ingress_id name;
  ingress_actor who;
};

// -- EVALUATOR

/// Qualify an implementation; or, when it is qualified and has drifted or failed, qualify it again.
struct qualify {
  implementation_id implementation;
  ledger::author author;
  std::string reason;
};
struct qualify_answer {
  result<qualification_id, problem> what;
};

/// How far a run is.
struct run_question {
  qualification_id qualification;
};
struct run_answer {
  bool running = false;
  std::string stage;
  std::uint64_t done = 0;
  std::uint64_t total = 0;
};

/// An ask of a run came back, from the errands' threads.
struct ask_answered {
  qualification_id qualification;
  qualification::run_event what;
};

/// The time of an ask that was to wait has come.
struct ask_due {
  qualification_id qualification;
  qualification::ask what;
};

/// Evidence that could not be kept is to be kept now.
struct keep_evidence {
  qualification_id qualification;
};

/// The evidence is on a majority's disks under this digest, or why not. From the errands' threads.
struct evidence_kept {
  qualification_id qualification;
  result<digest, problem> blob;
};

/// End a run before its end, e.g. because its stack changed.
struct stop_run {
  qualification_id qualification;
  std::string why;
};

using evaluator_actor = caf::typed_actor<
  caf::replies_to<qualify>::with<qualify_answer>,
  caf::replies_to<run_question>::with<run_answer>,
  caf::reacts_to<ask_due>,
  caf::reacts_to<ask_answered>,
  caf::reacts_to<keep_evidence>,
  caf::reacts_to<evidence_kept>,
  caf::reacts_to<stop_run>,
  caf::reacts_to<tables_changed>,
  caf::reacts_to<pool_changed>>;

// -- MOVER

/// Change how an implementation stands in its model's route.
struct promote {
  implementation_id implementation;
  catalog::implementation_status wanted = catalog::implementation_status::production;
  ledger::author author;
  std::string reason;
  moves::promotion_options how{};
};
/// Undo a committed move, or abort an open one.
struct reverse {
  move_id move;
  ledger::author author;
  std::string reason;
};
struct move_answer {
  result<move_id, problem> what;
};

/// What an open move waits for, with what no record says.
struct move_question {
  move_id move;
};
struct move_waits {
  std::string why; ///< Empty: it is over, or there is none of that id.
};

using mover_actor = caf::typed_actor<
  caf::replies_to<promote>::with<move_answer>,
  caf::replies_to<reverse>::with<move_answer>,
  caf::replies_to<move_question>::with<move_waits>,
  caf::reacts_to<tables_changed>,
  caf::reacts_to<pool_changed>,
  // Also: proposes what time brings about (expiry of qualifications).
  caf::reacts_to<tick>>;

// -- JOB QUEUE and DISPATCHER

/// Run this job now with at most `window` requests in flight; 0 pauses it.
struct run_job {
  jobs::spec job;
  std::uint32_t window = 1;
};

/// Stop asking, keep what is done, and end the job so.
struct wind_up_job {
  job_id job;
  jobs::event what = jobs::event::cancel;
  std::string why;
};

/// An item came back, from the errands' threads.
struct item_answered {
  job_id job;
  std::uint32_t item = 0;
  std::uint32_t attempt = 1;
  int status = 0; ///< 0: not answered, and `body` says why.
  std::string request_id;
  std::string body;
};

/// A person's wish about a job.
struct job_wish {
  job_id job;
  jobs::event what = jobs::event::cancel;
  std::string why;
};
struct job_wish_answer {
  result<jobs::state, problem> what;
};

/// How a job stands, with what no record says: its place in the queue.
struct job_question {
  job_id job;
};
struct job_answer {
  jobs::state state = jobs::first_state;
  std::string why;
};

/// A job's input, or why it cannot be read. From the errands' threads.
struct input_loaded {
  job_id job;
  result<std::shared_ptr<const std::string>, problem> input;
};

/// A checkpoint's blob is on a majority's disks, or why not. From the errands' threads.
struct output_kept {
  job_id job;
  jobs::checkpoint entry;
  result<digest, problem> blob;
};

using dispatcher_actor = caf::typed_actor<
  caf::reacts_to<run_job>,
  caf::reacts_to<wind_up_job>,
  caf::reacts_to<item_answered>,
  caf::reacts_to<input_loaded>,
  caf::reacts_to<output_kept>,
  caf::reacts_to<tables_changed>,
  caf::reacts_to<tick>>;

using job_queue_actor = caf::typed_actor<
  caf::replies_to<job_wish>::with<job_wish_answer>,
  caf::replies_to<job_question>::with<job_answer>,
  caf::reacts_to<tables_changed>,
  // Slots and what interactive traffic leaves of them.
  caf::reacts_to<pool_changed>,
  caf::reacts_to<tick>>;

// -- SUPERVISOR

/// An agent connected, from the fabric's thread.
struct agent_up {
  host_id host;
  fabric::hello hello;
};

/// Anything of an agent that is up, from the fabric's thread.
struct from_agent {
  host_id host;
  fabric::agent_message message;
};

struct agent_down {
  host_id host;
  std::string reason;
};

/// Hosts that are connected, with their links; pools with their coordinators.
struct parts_question {};
struct parts_answer {
  std::map<host_id, node_link_actor> links;
  std::map<pool_id, pool_actor> pools;
};

using supervisor_actor = caf::typed_actor<
  // Makes a POOL COORDINATOR for each declared pool.
  caf::reacts_to<tables_changed>,
  // Makes a NODE LINK for each agent, and hands it what its agent says.
  caf::reacts_to<agent_up>,
  caf::reacts_to<from_agent>,
  caf::reacts_to<agent_down>,
  caf::replies_to<parts_question>::with<parts_answer>>;

} // namespace assay

#define ASSAY_IN_PROCESS(type) CAF_ALLOW_UNSAFE_MESSAGE_TYPE(assay::type)
ASSAY_IN_PROCESS(tables_changed)
ASSAY_IN_PROCESS(pool_changed)
ASSAY_IN_PROCESS(tick)
ASSAY_IN_PROCESS(propose)
ASSAY_IN_PROCESS(proposed)
ASSAY_IN_PROCESS(listen_to_tables)
ASSAY_IN_PROCESS(proposal_answered)
ASSAY_IN_PROCESS(agent_said)
ASSAY_IN_PROCESS(agent_lost)
ASSAY_IN_PROCESS(host_question)
ASSAY_IN_PROCESS(host_answer)
ASSAY_IN_PROCESS(pool::start_replica)
ASSAY_IN_PROCESS(pool::stop_replica)
ASSAY_IN_PROCESS(pools_known)
ASSAY_IN_PROCESS(pool::event)
ASSAY_IN_PROCESS(link_up)
ASSAY_IN_PROCESS(ingress_up)
ASSAY_IN_PROCESS(listen_to_pool)
ASSAY_IN_PROCESS(pool_question)
ASSAY_IN_PROCESS(pool::grant_lease)
ASSAY_IN_PROCESS(pool::admit_ticket)
ASSAY_IN_PROCESS(pool::refuse_ticket)
ASSAY_IN_PROCESS(outcomes)
ASSAY_IN_PROCESS(ticket_wanted)
ASSAY_IN_PROCESS(ticket_dropped)
ASSAY_IN_PROCESS(ticket_settled)
ASSAY_IN_PROCESS(explain_question)
ASSAY_IN_PROCESS(explain_answer)
ASSAY_IN_PROCESS(routes_question)
ASSAY_IN_PROCESS(routes_answer)
ASSAY_IN_PROCESS(end_service)
ASSAY_IN_PROCESS(service_ended)
ASSAY_IN_PROCESS(qualify)
ASSAY_IN_PROCESS(qualify_answer)
ASSAY_IN_PROCESS(run_question)
ASSAY_IN_PROCESS(run_answer)
ASSAY_IN_PROCESS(ask_due)
ASSAY_IN_PROCESS(ask_answered)
ASSAY_IN_PROCESS(keep_evidence)
ASSAY_IN_PROCESS(evidence_kept)
ASSAY_IN_PROCESS(stop_run)
ASSAY_IN_PROCESS(promote)
ASSAY_IN_PROCESS(reverse)
ASSAY_IN_PROCESS(move_answer)
ASSAY_IN_PROCESS(move_question)
ASSAY_IN_PROCESS(move_waits)
ASSAY_IN_PROCESS(run_job)
ASSAY_IN_PROCESS(wind_up_job)
ASSAY_IN_PROCESS(item_answered)
ASSAY_IN_PROCESS(input_loaded)
ASSAY_IN_PROCESS(output_kept)
ASSAY_IN_PROCESS(job_wish)
ASSAY_IN_PROCESS(job_wish_answer)
ASSAY_IN_PROCESS(job_question)
ASSAY_IN_PROCESS(job_answer)
ASSAY_IN_PROCESS(agent_up)
ASSAY_IN_PROCESS(from_agent)
ASSAY_IN_PROCESS(agent_down)
ASSAY_IN_PROCESS(parts_question)
ASSAY_IN_PROCESS(parts_answer)
#undef ASSAY_IN_PROCESS
