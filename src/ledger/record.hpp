#pragma once
// One record of the qualification ledger, as a value: who says what about whom, and why.
//
// A record is what its asker wrote and nothing else. What the ledger adds when it takes the record
// (seq, term, time, chain) stands in `stamp` and never enters the record's hash, so that a retry is
// the same record. Payloads name things by id and bytes by digest; numbers are scaled integers with
// their unit in the name (`_bps` of 10,000, `_ppm`, `_ms`); there are no floats.

#include "src/base/clock.hpp"
#include "src/base/digest.hpp"
#include "src/base/ids.hpp"
#include "src/base/uuid.hpp"
#include "src/catalog/declarations.hpp"
#include "src/moves/move.hpp"
#include "src/moves/vectors.hpp"
#include "src/qualification/envelope.hpp"
#include "src/qualification/life.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace assay::ledger {

// -- envelope ---------------------------------------------------------------------------------

/// How we know who asked.
enum class authentication : std::uint8_t {
  process, ///< An actor of ours on the leader.
  socket,  ///< The admin socket: whoever may open it.
  api_key,
  curve, ///< A CURVE key on the list.
  munge,
  token,
};

struct author {
  std::string who; ///< `root`, `EVALUATOR`, a host's or a key's name.
  authentication how = authentication::process;

  friend bool operator==(const author&, const author&) = default;
};

/// How far the payload can be believed.
enum class trust : std::uint8_t {
  claimed,  ///< Somebody says so.
  measured, ///< Our agent or evaluator saw it.
  verified, ///< Checked against bytes or a signature.
};

/// What the record is about: the digest of a kind and a name (`subject_of`), and the part it plays.
struct subject {
  digest what;
  std::string role;

  friend auto operator<=>(const subject&, const subject&) = default;
};

enum class relation : std::uint8_t { evidence, policy, supersedes, inverse_of, caused_by };

/// An earlier record that this one builds on, by its hash.
struct parent {
  digest record;
  ledger::relation relation = relation::caused_by;

  friend bool operator==(const parent&, const parent&) = default;
};

// -- declarations -----------------------------------------------------------------------------

/// Adds a declaration, or replaces the one of the same kind and name.
struct declared {
  catalog::declaration what;

  friend bool operator==(const declared&, const declared&) = default;
};

/// In the order of catalog::declaration.
enum class declaration_kind : std::uint8_t {
  pool,
  model,
  artifact,
  implementation,
  runtime_profile,
  suite,
  policy,
  project,
  key,
};

/// Takes a declaration away. Refused while another declaration, a route or an open move needs it.
struct retired {
  declaration_kind kind = declaration_kind::pool;
  std::string name;

  friend bool operator==(const retired&, const retired&) = default;
};

// -- artifacts and stacks ---------------------------------------------------------------------

/// An artifact is `registered` by its declaration.
enum class artifact_state : std::uint8_t {
  registered,
  present,
  verified,
  quarantined,
  deprecated,
  tombstoned, ///< final: bytes gone, record kept
};

struct artifact_changed {
  artifact_id artifact;
  digest manifest; ///< What was looked at; refused when the declared manifest is another by now.
  artifact_state to = artifact_state::present;
  host_id host; ///< Where it was seen; empty for a decision of a person.
  std::string detail;

  friend bool operator==(const artifact_changed&, const artifact_changed&) = default;
};

struct stack_field {
  std::string name;
  std::string value;

  friend auto operator<=>(const stack_field&, const stack_field&) = default;
};

/// A host runs this stack from now on. A second record for the host with another digest is drift.
struct stack_seen {
  host_id host;
  pool_id pool;
  digest fingerprint;
  std::vector<stack_field> fields; ///< Sorted by name; no port, address, index, path or secret.

  friend bool operator==(const stack_seen&, const stack_seen&) = default;
};

// -- evidence ---------------------------------------------------------------------------------

enum class run_stage : std::uint8_t { contract, numeric, task, performance, cost };
enum class run_status : std::uint8_t { complete, aborted, invalid };

/// One shape that was tried.
struct envelope_point {
  std::uint32_t input_tokens = 0;
  std::uint32_t output_tokens = 0;
  std::uint32_t concurrency = 1;
  bool stream = false;
  bool passed = false;

  friend bool operator==(const envelope_point&, const envelope_point&) = default;
};

/// One named result of a stage that is not a count, e.g. `ttft_p50`, 812, `ms`.
struct measure {
  std::string name;
  std::int64_t value = 0;
  std::string unit;

  friend bool operator==(const measure&, const measure&) = default;
};

struct eval_run {
  std::string id;
  qualification_id qualification;
  implementation_id implementation;
  run_stage stage = run_stage::task;
  run_status status = run_status::complete;
  digest suite;       ///< Of the suite's text.
  digest manifest;    ///< Of the artifact that ran.
  digest profile;     ///< Of the launch: profile's text, slots, devices, args.
  digest fingerprint; ///< Of the stack that it ran on.
  host_id host;
  std::uint32_t items = 0;
  std::uint32_t passed = 0;
  std::uint32_t failed = 0;
  std::uint32_t errors = 0;
  std::uint32_t distinct_answers = 0;
  std::uint32_t score_ppm = 0;
  std::uint32_t score_lower_ppm = 0; ///< Exact one-sided lower bound at `confidence_ppm`.
  std::uint32_t confidence_ppm = 0;
  std::vector<envelope_point> points;
  std::vector<measure> measures;
  std::vector<digest> blobs; ///< Raw outputs, kept as blobs.
  wall_ms started_at;
  wall_ms ended_at;
  std::string detail;

  friend bool operator==(const eval_run&, const eval_run&) = default;
};

// -- qualification ----------------------------------------------------------------------------

/// The tuple (artifact manifest, profile, policy, suite) is frozen from the tables when applied.
struct qualification_opened {
  qualification_id id;
  implementation_id implementation;
  policy_id policy;

  friend bool operator==(const qualification_opened&, const qualification_opened&) = default;
};

enum class predicate_outcome : std::uint8_t { pass, fail, no_data };

/// One comparison of a decision. Both sides are in `unit`.
struct predicate {
  std::string name;
  std::int64_t value = 0;
  std::int64_t bound = 0;
  std::string unit;
  predicate_outcome outcome = predicate_outcome::no_data;

  friend bool operator==(const predicate&, const predicate&) = default;
};

/// `pass`, `fail`, `no_evidence` of an evaluation, or `reverify_pass` after a suspension. A pass
/// needs evidence that the tables can check: see src/ledger/judge.hpp.
struct qualification_decided {
  qualification_id id;
  qualification::event verdict = qualification::event::no_evidence;
  std::vector<std::string> runs; ///< Ids of eval runs of this qualification.
  std::vector<predicate> predicates;
  qualification::envelope covers;
  wall_ms expires_at;
  std::string detail;

  friend bool operator==(const qualification_decided&, const qualification_decided&) = default;
};

/// Every other event of src/qualification/life.hpp.
struct qualification_changed {
  qualification_id id;
  qualification::event event = qualification::event::start;
  std::optional<qualification_id> by; ///< `supersede`: the newer one.
  std::string detail;

  friend bool operator==(const qualification_changed&, const qualification_changed&) = default;
};

/// A qualified implementation passed on one more stack, which joins the set.
struct qualification_extended {
  qualification_id id;
  std::vector<std::string> runs;
  std::vector<predicate> predicates;
  std::string detail;

  friend bool operator==(const qualification_extended&, const qualification_extended&) = default;
};

// -- exceptions -------------------------------------------------------------------------------

/// Lets an implementation through named gates for a while. It ends by itself.
struct waiver {
  std::string id;
  implementation_id implementation;
  std::vector<std::uint8_t> gates; ///< 2, 4 and 5 can be waived.
  wall_ms expires_at;
  std::string reason;

  friend bool operator==(const waiver&, const waiver&) = default;
};

/// Before its hour: it ends now. After it: somebody has looked at what it let through.
struct waiver_ended {
  std::string id;

  friend bool operator==(const waiver_ended&, const waiver_ended&) = default;
};

enum class revocation_target : std::uint8_t { artifact, fingerprint };

/// Withdraws a manifest or a stack for ever, whatever names it now or later.
struct revocation {
  revocation_target target = revocation_target::artifact;
  digest what;
  std::string detail;

  friend bool operator==(const revocation&, const revocation&) = default;
};

// -- moves ------------------------------------------------------------------------------------

struct move_step {
  moves::vectors carried;
  std::uint64_t hold_ms = 0;

  friend bool operator==(const move_step&, const move_step&) = default;
};

/// The way back, fixed when the move is proposed and checked again whenever it is used.
struct inverse_plan {
  moves::vectors target;                ///< The move's `before`, unless `irreversible`.
  std::vector<moves::vectors> fallback; ///< Tried in order when the target is not proven any more.
  bool shed_load = true; ///< After the fallbacks: carry nothing rather than something unproven.
  bool irreversible = false;
  std::string note; ///< Side effects; the reason when irreversible.

  friend bool operator==(const inverse_plan&, const inverse_plan&) = default;
};

struct guard {
  std::string metric;
  std::int64_t bound = 0;
  std::string unit;
  std::uint64_t window_ms = 0;
  std::uint32_t samples_at_least = 0;

  friend bool operator==(const guard&, const guard&) = default;
};

/// Changes a route from `before` to `after`, the last step.
struct move_proposed {
  move_id id;
  model_id model;
  std::uint64_t expected_generation = 0;
  moves::vectors before;
  moves::vectors after;
  std::vector<move_step> steps;
  inverse_plan inverse;
  digest policy;        ///< Frozen: guards are judged by this text and no later one.
  bool guarded = false; ///< Guards must pass to go on; false states that nothing guards it.
  std::vector<guard> guards;
  std::uint64_t bake_ms = 0; ///< Observed so long before it is committed.
  std::optional<move_id> inverse_of;
  std::string cause;

  friend bool operator==(const move_proposed&, const move_proposed&) = default;
};

/// Every implementation that `after` lets carry something is qualified, by these.
struct move_authorised {
  move_id id;
  std::vector<qualification_id> qualifications;
  std::vector<std::string> waivers;
  std::vector<std::uint64_t> versions; ///< Of each qualification as it was judged; empty: any.

  friend bool operator==(const move_authorised&, const move_authorised&) = default;
};

enum class observation : std::uint8_t { none, pass, fail, no_data };

/// `step`, `retarget` or `manual_vector`: the route carries `carried` from `generation` on.
struct move_route_changed {
  move_id id;
  moves::event event = moves::event::step;
  std::uint32_t step = 0;
  std::uint64_t generation = 0; ///< The route's generation after this record.
  moves::vectors carried;
  observation guards = observation::none; ///< Of the last window, when guards exist.
  std::string detail;

  friend bool operator==(const move_route_changed&, const move_route_changed&) = default;
};

struct acknowledgement {
  std::string node;
  std::uint64_t generation = 0;

  friend bool operator==(const acknowledgement&, const acknowledgement&) = default;
};

/// `stage`, `acked` or `revert_acked`: the data planes answered.
struct move_acked {
  move_id id;
  moves::event event = moves::event::acked;
  std::vector<acknowledgement> nodes;

  friend bool operator==(const move_acked&, const move_acked&) = default;
};

/// `deny`, `cancel`, `bake_over`, `confirm`, `abort` or `exhausted`.
struct move_changed {
  move_id id;
  moves::event event = moves::event::abort;
  observation guards = observation::none;
  std::string detail;

  friend bool operator==(const move_changed&, const move_changed&) = default;
};

// -- keys, identities, tokens -----------------------------------------------------------------

/// A key's secret was made and shown once. A second one replaces the first.
struct key_issued {
  key_id key;
  digest secret;         ///< SHA-256 of the secret.
  bool internal = false; ///< EVALUATOR's and DISPATCHER's own; it has no declaration.
  project_id project;    ///< Internal keys only; a declared key's come from its declaration.
  contract::traffic_class traffic = contract::traffic_class::interactive;

  friend bool operator==(const key_issued&, const key_issued&) = default;
};

struct key_revoked {
  key_id key;
  std::string detail;

  friend bool operator==(const key_revoked&, const key_revoked&) = default;
};

enum class identity_role : std::uint8_t { coordinator, ingress, host, job_agent };

/// A CURVE public key may speak as `name` from now on.
struct identity_added {
  std::string name; ///< Hosts: the host's name.
  identity_role role = identity_role::host;
  std::string curve_public; ///< Z85, 40 characters.
  pool_id pool;             ///< Hosts: the pool they belong to.
  std::string token;        ///< Id of the token it joined by; empty for what standalone makes.

  friend bool operator==(const identity_added&, const identity_added&) = default;
};

struct identity_revoked {
  std::string name;
  std::string detail;

  friend bool operator==(const identity_revoked&, const identity_revoked&) = default;
};

/// What a host may be used for.
enum class host_duty : std::uint8_t {
  in_service,
  draining,    ///< Nothing new; what runs there ends once nothing of it is in flight.
  quarantined, ///< No request from now on, and nothing new; what runs there stays to be looked at.
};

/// Somebody decided what a host may be used for from now on, and says why.
struct host_standing {
  host_id host;
  host_duty duty = host_duty::in_service;
  std::string reason;

  friend bool operator==(const host_standing&, const host_standing&) = default;
};

/// One use, at most 15 minutes.
struct token_issued {
  std::string id;
  digest secret; ///< SHA-256 of the secret.
  identity_role role = identity_role::host;
  pool_id pool;
  wall_ms expires_at;

  friend bool operator==(const token_issued&, const token_issued&) = default;
};

// -- jobs -------------------------------------------------------------------------------------

enum class job_priority : std::uint8_t { urgent, normal, backfill };

struct job_submitted {
  job_id id;
  project_id project;
  key_id key; ///< Whose rights it runs with; empty for the admin socket.
  model_id model;
  digest input; ///< Blob of JSONL.
  std::uint64_t items = 0;
  job_priority priority = job_priority::normal;
  std::string name;
  std::map<std::string, std::string> options;

  friend bool operator==(const job_submitted&, const job_submitted&) = default;
};

enum class job_end : std::uint8_t { finished, failed, cancelled };

struct job_ended {
  job_id id;
  job_end end = job_end::finished;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::string detail;

  friend bool operator==(const job_ended&, const job_ended&) = default;
};

// -- service ----------------------------------------------------------------------------------

/// What one ingress, since it was started, sent to one implementation of a route in one hour. Its
/// record has the id of `id_of` (src/ledger/service.hpp), so that an hour is told once.
struct serving_summary {
  std::string ingress;    ///< Its name, the first part of its decisions' ids.
  std::uint64_t boot = 0; ///< Which of its starts; the second part of them.
  wall_ms hour;           ///< Begins here; a request counts where it ended.
  model_id route;
  implementation_id implementation; ///< Empty: refused before one was chosen.
  std::uint64_t interactive = 0;    ///< Requests by class; together they are all of them,
  std::uint64_t batch = 0;
  std::uint64_t served = 0; ///< and the same requests by how they ended.
  std::uint64_t refused = 0;
  std::uint64_t failed = 0;
  std::uint64_t client_gone = 0;
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
  std::uint64_t first_generation = 0; ///< Of the route, as the decisions knew it; 0 for none.
  std::uint64_t last_generation = 0;
  wall_ms first_ended;
  wall_ms last_ended;
  digest decisions; ///< Over every decision, in the order in which they ended.

  friend bool operator==(const serving_summary&, const serving_summary&) = default;
};

// -- the cluster ------------------------------------------------------------------------------

/// The first record of a ledger, and only the first.
struct cluster_created {
  uuid cluster;
  std::string name;

  friend bool operator==(const cluster_created&, const cluster_created&) = default;
};

/// Whoever holds the ledger: a coordinator, which votes, or a separate ingress, which does not.
struct member {
  std::uint64_t id = 0; ///< Raft's; never used twice.
  std::string name;
  std::string address; ///< `HOST:PORT` where other members dial it; "local" in a group of one.
  std::string signing_public; ///< Ed25519, 64 hexadecimal digits: checks batches it proposes.
  bool voter = true;          ///< Wanted: it has its vote once it has caught up.
  std::string curve_public;   ///< Z85; empty in a group of one that nobody can join.
  std::string disk;           ///< Of its data directory: the id on another disk is somebody else.
  std::string agents;         ///< `HOST:PORT` of its hub; empty: it has none.
  std::string ingress;        ///< `HOST:PORT` of its ingress; empty: it has none.

  friend bool operator==(const member&, const member&) = default;
};

/// Who keeps the ledger from now on.
struct membership {
  std::vector<member> members; ///< Sorted by id.

  friend bool operator==(const membership&, const membership&) = default;
};

/// From now on records of this schema version are taken. Proposed by the leader once every member's
/// program knows it (src/ledger/schema.hpp); it never goes down.
struct cluster_version {
  std::uint16_t version = 0;

  friend bool operator==(const cluster_version&, const cluster_version&) = default;
};

// -- the record -------------------------------------------------------------------------------

using payload = std::variant<
  cluster_created,
  membership,
  declared,
  retired,
  artifact_changed,
  stack_seen,
  eval_run,
  qualification_opened,
  qualification_decided,
  qualification_changed,
  qualification_extended,
  waiver,
  waiver_ended,
  revocation,
  move_proposed,
  move_authorised,
  move_route_changed,
  move_acked,
  move_changed,
  key_issued,
  key_revoked,
  identity_added,
  identity_revoked,
  token_issued,
  job_submitted,
  job_ended,
  serving_summary,
  cluster_version,
  host_standing>;

/// The newest schema that this program knows.
inline constexpr std::uint16_t schema_version = 2;

/// The first schema version that knows the payload's kind.
std::uint16_t schema_needed(const payload& p);

struct record {
  uuid record_id; ///< Made by the asker before the first try, repeated on each retry.
  std::uint16_t schema_version = 1; ///< What a reader has to know; at least `schema_needed`.
  std::vector<subject> subjects;    ///< At least those of `subjects_of(payload)`.
  std::vector<parent> parents;
  ledger::author author;
  std::string correlation_id;
  std::string reason_code;
  std::string reason_text;
  ledger::trust trust = trust::claimed;
  ledger::payload payload;

  friend bool operator==(const record&, const record&) = default;
};

// -- state entries: replicated, overwritten in place, not chained -----------------------------

/// Items [first, first + count) of a job are done. Repeating one is harmless; one that overlaps
/// another is refused, so that no line is done twice.
struct job_checkpoint {
  job_id job;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  digest output; ///< Blob of the output lines, in item order.
  digest errors; ///< Blob of the error lines; all zero when there are none.

  friend bool operator==(const job_checkpoint&, const job_checkpoint&) = default;
};

/// What a key used in one hour, so far.
struct usage {
  key_id key;
  wall_ms hour;
  std::uint64_t requests = 0;
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;

  friend bool operator==(const usage&, const usage&) = default;
};

/// Which host or coordinator holds which bytes.
struct holding {
  std::string holder;
  digest what;
  bool held = true;

  friend bool operator==(const holding&, const holding&) = default;
};

using state_entry = std::variant<job_checkpoint, usage, holding>;

// -- building records -------------------------------------------------------------------------

/// The digest by which records about a thing are found: kind (`model`, `route`, ...) and name.
digest subject_of(std::string_view kind, std::string_view name);

/// What a payload is about, each once, sorted.
std::vector<subject> subjects_of(const payload& p);

/// `declared`, `move_proposed`, ...: the kind's name on screen and in the schema.
std::string_view kind_name(const payload& p);
std::string_view kind_name(const state_entry& s);

struct reason {
  std::string code; ///< A short word, e.g. `operator`, `drift`.
  std::string text;
};

/// A record with a new id and its subjects filled in. For edges: it reads clock and chance.
record make_record(payload p, author who, reason why = {}, trust believed = trust::claimed);

/// The same, with the id that the asker brought.
record
make_record(uuid id, payload p, author who, reason why = {}, trust believed = trust::claimed);

std::string_view name(authentication a);
std::string_view name(trust t);
std::string_view name(relation r);
std::string_view name(declaration_kind k);
std::string_view name(artifact_state s);
std::string_view name(run_stage s);
std::string_view name(run_status s);
std::string_view name(predicate_outcome o);
std::string_view name(revocation_target t);
std::string_view name(observation o);
std::string_view name(identity_role r);
std::string_view name(host_duty d);
std::string_view name(job_priority p);
std::string_view name(job_end e);
std::optional<declaration_kind> parse_declaration_kind(std::string_view text);
std::optional<job_priority> parse_job_priority(std::string_view text);

} // namespace assay::ledger
