#pragma once
// Every queue, batch, retry, timeout and message size has its limit here, with the relations
// between them.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace assay::limits {

using namespace std::chrono_literals;

// -- names and documents ----------------------------------------------------------------------
inline constexpr std::size_t name_bytes = 64;          ///< `[A-Za-z0-9._-]`, per part of an id.
inline constexpr std::size_t key_bytes = 511;          ///< What LMDB takes as a key.
inline constexpr std::size_t document_bytes = 4 << 20; ///< One YAML file handed to apply.
inline constexpr std::size_t documents = 10'000;       ///< Declarations in one apply.
inline constexpr std::size_t yaml_nodes = 500'000;     ///< Scalars, lists and mappings of one file.
inline constexpr std::size_t yaml_depth = 32;          ///< Nesting of one document.
inline constexpr std::size_t text_bytes = 4'096;       ///< A free text value: owner, location.
inline constexpr std::size_t list_items = 4'096;       ///< Entries of one list or mapping.
inline constexpr std::size_t told_line_bytes = 1'024;  ///< Of a line of an error or a log.
inline constexpr std::size_t told_bytes = 512 << 10;   ///< Of all lines of one error.
inline constexpr std::size_t problems = 1'000;         ///< Problems told of one apply.
inline constexpr std::size_t profile_bytes = 256 << 10;
inline constexpr std::size_t pattern_bytes = 512; ///< One pattern of a runtime profile.
inline constexpr std::size_t pattern_memory_bytes = 1 << 20;
inline constexpr std::size_t command_bytes = 128 << 10; ///< argv of one replica.
inline constexpr std::size_t log_line_bytes = 4'096;    ///< What of a log line patterns see.
inline constexpr std::size_t scrape_bytes = 16 << 20;   ///< One answer of an engine's metrics.

// -- ledger -----------------------------------------------------------------------------------
inline constexpr std::size_t payload_bytes =
  64 << 10;                                       ///< A larger payload is a blob, named by digest.
inline constexpr std::size_t batch_entries = 256; ///< Entries of one group commit.
/// The next batch waits for those who were just answered: twice what the last one took, at most so
/// long, since on a slow disk they are back long before.
inline constexpr auto gather_longest = 10ms;
inline constexpr unsigned gather_skipped = 7; ///< Batches without a wait, after some in vain.
inline constexpr std::size_t proposals_waiting = 4'096;
inline constexpr std::size_t proposal_bytes = 80 << 10;     ///< A payload in its envelope.
inline constexpr std::size_t batch_bytes = 8 << 20;         ///< Proposals of one group commit.
inline constexpr std::size_t batch_frame_bytes = 9 << 20;   ///< A batch as one Raft entry.
inline constexpr std::size_t export_frame_bytes = 9 << 20;  ///< A batch in an export.
inline constexpr std::size_t row_bytes = 10 << 20;          ///< A value of the state environment.
inline constexpr std::size_t subjects = 64;                 ///< Of one record.
inline constexpr std::size_t parents = 64;                  ///< Of one record.
inline constexpr std::uint32_t qualification_attempts = 10; ///< Evaluations without a verdict.
inline constexpr auto waiver_life = 24h;                    ///< At most.
inline constexpr std::uint64_t map_bytes = 64ULL << 30;     ///< Address space of one environment.
inline constexpr std::uint64_t log_trailing = 1'024;        ///< Applied entries kept in the log.
inline constexpr std::size_t page_bytes = 4 << 20;          ///< Rows copied out in one read.
inline constexpr std::size_t state_bytes = 16 << 20;        ///< Rows of one state transaction.
inline constexpr std::size_t state_reserve_bytes = 1
                                                   << 20; ///< Disk room before proposals are taken.
inline constexpr auto full_disk_retry = 100ms;
inline constexpr auto state_commit_every = 10ms;
inline constexpr auto reader_age = 2s;               ///< Oldest read transaction of a query.
inline constexpr std::uint32_t map_use_percent = 70; ///< Above it proposals are refused.
inline constexpr auto clock_jump = 5s;               ///< Wall against boot time, single voter.
inline constexpr auto proposal_patience = 10s;       ///< Until an actor takes a proposal for lost.
inline constexpr auto adoption_patience = 15s; ///< Until who offers a server is answered anyway.
inline constexpr auto mover_tick = 1s;
inline constexpr auto dispatcher_tick = 500ms;
inline constexpr std::size_t evaluation_threads = 4; ///< Asks in flight, all runs together.
inline constexpr std::size_t dispatch_threads = 32; ///< Items of jobs in flight, all jobs together.
inline constexpr std::size_t blob_threads = 2;
inline constexpr auto job_queue_tick = 250ms;

// -- fabric -----------------------------------------------------------------------------------
inline constexpr std::size_t message_bytes = 1 << 20;
inline constexpr std::size_t peer_queue_bytes = 4
                                                << 20; ///< Unsent bytes per peer before it is cut.
inline constexpr auto heartbeat_every = 1s;
inline constexpr auto peer_silence = 4s; ///< No message for so long: the peer is lost.
inline constexpr auto revocation_reach = 2s;
inline constexpr auto join_token_life = 15min;
inline constexpr auto join_patience = 20s;           ///< A joining host waits so long.
inline constexpr std::size_t joins_waiting = 64;     ///< Join requests without an answer yet.
inline constexpr auto handshake = 3s;                ///< CURVE handshake of one connection.
inline constexpr auto redial_first = 100ms;          ///< An agent dials again after so long,
inline constexpr auto redial_most = 5s;              ///< doubling to so long.
inline constexpr std::size_t hub_queue = 65'536;     ///< Messages handed to the hub's thread,
inline constexpr std::size_t hub_bytes = 64 << 20;   ///< and their bytes.
inline constexpr std::size_t log_tail_bytes = 8'192; ///< Of a replica's log, in its report.
inline constexpr std::size_t fabric_items = 10'000;  ///< Entries of one list in a message.

// -- ingress ----------------------------------------------------------------------------------
inline constexpr std::size_t head_bytes = 64 << 10;
inline constexpr std::size_t headers = 128;
inline constexpr std::size_t uri_bytes = 8'192;        ///< The request target.
inline constexpr std::size_t chunk_line_bytes = 256;   ///< Extensions of one chunk.
inline constexpr std::size_t trailer_bytes = 8'192;    ///< Of a chunked body, all together.
inline constexpr std::size_t body_bytes = 64 << 20;    ///< The contract may allow less.
inline constexpr std::size_t bodies_bytes = 512 << 20; ///< All buffered bodies of one process.
inline constexpr std::size_t json_depth = 256;
inline constexpr std::size_t event_bytes =
  64 << 10; ///< An SSE event that is held back until complete.
inline constexpr std::size_t stream_buffer_bytes = 256 << 10;
inline constexpr std::size_t connections = 16'384;
inline constexpr auto head_timeout = 10s;
inline constexpr auto idle_timeout = 75s;
inline constexpr auto connect_timeout = 2s;
inline constexpr auto first_byte_timeout = 10min;
inline constexpr auto gap_timeout = 2min;
inline constexpr auto total_timeout = 1h;
inline constexpr auto write_stall_timeout = 30s;
inline constexpr auto upstream_idle = 4s;      ///< uvicorn closes at 5 s.
inline constexpr auto keepalive_comment = 15s; ///< A silent stream gets a comment this often.
inline constexpr auto trailer_grace = 100ms;   ///< For the terminator that follows `[DONE]`.
inline constexpr auto linger_time = 2s;        ///< Reading on after a refusal, so that it arrives.
inline constexpr std::size_t linger_bytes = 1 << 20;
inline constexpr std::size_t client_buffer_bytes = 4 << 10; ///< Head, small body, next request.
inline constexpr std::size_t small_body_bytes = 32 << 10;   ///< A larger one has memory of its own.
inline constexpr std::size_t upstream_buffer_bytes = 32 << 10;
inline constexpr std::size_t error_body_bytes = 64 << 10; ///< Of a replica's error answer.
inline constexpr unsigned route_attempts = 3;             ///< Endpoints tried for one request.
inline constexpr unsigned retry_percent = 10;             ///< Retries per hundred requests.
inline constexpr unsigned retry_reserve = 10;             ///< Retries allowed in a burst.
inline constexpr std::size_t upstream_idle_per_endpoint = 512;
inline constexpr std::size_t outcome_batch = 256;
inline constexpr auto outcome_every = 10ms;
inline constexpr std::size_t decision_ring = 65'536;

// -- the admin API and other listeners for people -----------------------------------------------
inline constexpr std::size_t service_connections = 256; ///< Then the longest idle one is closed.
inline constexpr std::size_t service_body_bytes = 64 << 20; ///< Of one request.
inline constexpr std::size_t service_small_bytes = 1 << 20; ///< Not counted among
inline constexpr std::size_t service_bodies_bytes = 512
                                                    << 20; ///< all bodies and answers in memory.

// -- credits ----------------------------------------------------------------------------------
inline constexpr auto lease_life = 10s;
inline constexpr auto lease_renew = 5s;
inline constexpr std::size_t queue_waiting = 1'024; ///< Requests waiting for credit, per pool.
inline constexpr auto queue_wait = 30s;
inline constexpr auto usage_report_every =
  200ms;                                     ///< An ingress tells pools what it holds and uses.
inline constexpr auto pool_tick = 250ms;     ///< A POOL COORDINATOR's idle step.
inline constexpr auto ticket_unsettled = 2s; ///< An admitted ticket counts until then, unheard of.
inline constexpr auto retry_after_default = 5s; ///< With no service rate measured yet.
inline constexpr auto retry_after_max = 60s;

// -- routing ----------------------------------------------------------------------------------
inline constexpr std::size_t implementations_per_model = 256;
inline constexpr auto rates_stale = 60s; ///< A rate that nothing was added to for so long.
inline constexpr auto rates_kept = 1h;
inline constexpr auto expiry_grace = 60s; ///< An ingress shuts gate 5 by its own clock so late.

// -- replicas ---------------------------------------------------------------------------------
inline constexpr std::uint16_t replica_port_first = 7200;
inline constexpr std::uint16_t replica_port_last = 7999;
inline constexpr auto fingerprint_every = 5s;      ///< A change is reported within 10 s.
inline constexpr std::size_t log_bytes = 16 << 20; ///< Per replica log file before it rotates.
inline constexpr int crash_restarts = 5; ///< Failures in a row; then a person has to ask for more.
inline constexpr auto crash_pause_first = 1s;
inline constexpr auto crash_pause_most = 60s;
inline constexpr auto crash_forgotten =
  60s; ///< Served so long, a replica's failures count no more.
inline constexpr auto observe_every = 500ms;    ///< A death is seen within a second.
inline constexpr auto suspicion = 60s;          ///< A replica that stays suspect is stopped.
inline constexpr auto sample_every = 1s;        ///< Native telemetry.
inline constexpr auto sample_patience = 5s;     ///< A family that does not answer is stale.
inline constexpr std::size_t agent_workers = 4; ///< Threads for probes, checks and launches.
inline constexpr std::size_t replicas_per_host = 256;
inline constexpr std::size_t ended_replicas_kept = 32; ///< Folders with the logs of ended replicas.
inline constexpr auto start_unheard = 10s; ///< A start or stop that no report followed is repeated.
inline constexpr auto host_settles = 1s; ///< After an agent came: for its replicas to be reported.
inline constexpr auto replica_confirm = 5s; ///< After its agent came back, to be reported again.
inline constexpr auto unwatched = 15s;      ///< Replicas serve so long while their agent is silent.
inline constexpr auto drain_deadline = 2min;
inline constexpr auto drain = 10s;             ///< Requests in flight when assayd is told to stop.
inline constexpr auto scale_up_wait = 5s;      ///< Somebody waited so long: one more replica.
inline constexpr auto scale_down_idle = 10min; ///< Nothing in flight for so long: one fewer.

// -- qualification ----------------------------------------------------------------------------
inline constexpr std::size_t suite_items = 10'000;
inline constexpr std::size_t suite_text_bytes = 64 << 10;     ///< One prompt or expected answer.
inline constexpr std::uint32_t suite_max_tokens = 4'096;      ///< Of one answer.
inline constexpr std::size_t evidence_body_bytes = 256 << 10; ///< Of one answer in the evidence.

// -- moves ------------------------------------------------------------------------------------
inline constexpr std::chrono::milliseconds move_span =
  std::chrono::hours{24 * 30};                   ///< Hold or bake.
inline constexpr auto move_stage_within = 10min; ///< From authorised to staged.
inline constexpr auto move_ack_within = 30s;     ///< From a step to the last ingress's word.
inline constexpr auto revert_within = 60s;       ///< Then the next target, and then a person.

// -- jobs -------------------------------------------------------------------------------------
inline constexpr std::size_t job_line_bytes = 1 << 20;
inline constexpr std::size_t job_items = 1'000'000;
inline constexpr std::size_t checkpoint_items = 1'000;
inline constexpr auto checkpoint_every = 5s;
inline constexpr std::size_t checkpoint_bytes = 16 << 20;
inline constexpr std::size_t job_bytes = 256 << 20;
inline constexpr std::size_t job_answers_ahead =
  4'096; ///< Finished items that wait for an earlier one.
inline constexpr std::size_t job_answers_bytes = 64 << 20; ///< The same, in bytes.
inline constexpr std::size_t job_window = 256;             ///< Asks in flight of one job.
inline constexpr std::uint32_t job_item_tries = 3;         ///< Of an item that an engine failed.
inline constexpr auto job_wind_up = 10s; ///< For answers in flight when a job is cancelled.
inline constexpr auto job_life = std::chrono::hours{24};

static_assert(ticket_unsettled < queue_wait);
static_assert(replica_confirm < lease_life, "an unconfirmed replica is out before its leases are");
static_assert(lease_renew * 2 <= lease_life, "a lease is renewed at half its life");
static_assert(
  heartbeat_every * 3 < peer_silence, "three lost heartbeats before a peer is given up"
);
static_assert(upstream_idle < 5s, "engines close an idle connection at 5 s");
static_assert(fingerprint_every * 2 <= 10s, "drift is reported within 10 s");
static_assert(adoption_patience > proposal_patience, "a proposal's own end is told");
static_assert(payload_bytes < message_bytes);
static_assert(payload_bytes < proposal_bytes && proposal_bytes < batch_bytes);
static_assert(event_bytes < stream_buffer_bytes);
static_assert(service_small_bytes < service_body_bytes);
static_assert(job_bytes <= service_bodies_bytes, "the largest answer that is not streamed");
static_assert(client_buffer_bytes < head_bytes, "a large head grows the buffer, it is not cut");
static_assert(keepalive_comment < gap_timeout);

} // namespace assay::limits
