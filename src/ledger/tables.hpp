#pragma once
// What the ledger says now: the tables that records change and that everything else reads.
//
// Each table is a cow: copying `tables` is cheap, and the copy is an immutable version that may be
// handed to any thread. Tables change only in `apply` (src/ledger/apply.hpp) and, at start, in
// `load`. Rows carry all of their key, so that what LMDB holds and what memory holds are one thing.

#include "src/base/cow.hpp"
#include "src/ledger/record.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace assay::ledger {

// -- rows -------------------------------------------------------------------------------------

/// Where the ledger stands. `chain` is the head of the hash chain, `genesis(cluster)` at first.
struct head_row {
  std::optional<uuid> cluster; ///< Nothing before `cluster_created`.
  std::string name;
  std::uint64_t seq = 0; ///< Of the last record; dense from 1.
  digest chain;
  wall_ms stamped_at; ///< Of the last batch; never goes back.
  std::uint64_t applied_index = 0;
  std::uint64_t applied_term = 0;
  std::vector<member> members;
  std::uint64_t last_member = 0;    ///< The highest id that a member ever had.
  std::uint16_t schema_version = 0; ///< What the members agreed on; 0: nothing yet, which is 1.

  friend bool operator==(const head_row&, const head_row&) = default;
};

/// A declaration as it stands. `record` is the hash of the record that said so: a policy's digest.
template <class T>
struct declared_row {
  T what;
  digest record;
  std::uint64_t seq = 0;

  friend bool operator==(const declared_row&, const declared_row&) = default;
};

/// The same for any kind, as it is stored.
using catalog_row = declared_row<catalog::declaration>;

struct artifact_row {
  artifact_id artifact;
  digest manifest;
  artifact_state state = artifact_state::registered;
  ledger::trust trust = trust::claimed; ///< Of the last change.
  std::string registered_by;            ///< Who declared it: an adopted server's adopter.
  host_id host;                         ///< Where the last change was seen.
  std::string detail;
  std::uint64_t seq = 0;

  friend bool operator==(const artifact_row&, const artifact_row&) = default;
};

/// A stack by its digest; known for ever.
struct stack_row {
  digest fingerprint;
  std::vector<stack_field> fields;
  std::uint64_t first_seq = 0;

  friend bool operator==(const stack_row&, const stack_row&) = default;
};

/// What a host runs, as last recorded.
struct host_row {
  host_id host;
  pool_id pool;
  digest fingerprint;
  digest previous; ///< Before the last drift; all zero when there was none.
  wall_ms since;
  std::uint64_t seq = 0;

  friend bool operator==(const host_row&, const host_row&) = default;
};

struct run_row {
  eval_run run;
  digest record;
  std::uint64_t seq = 0;

  friend bool operator==(const run_row&, const run_row&) = default;
};

/// A qualification with what was frozen when it was opened.
struct qualification_row {
  qualification_id id;
  implementation_id implementation;
  qualification::state state = qualification::first_state;
  catalog::policy policy; ///< As it stood.
  digest policy_record;
  digest suite;
  digest manifest;
  digest profile; ///< The launch it is about (`launch_digest_of`): profile, slots, devices, args.
  std::uint32_t attempts = 0;
  std::vector<std::string> runs;    ///< Ids of the runs that the last decision named.
  std::vector<digest> fingerprints; ///< The set of stacks it holds for; sorted.
  qualification::envelope covers;
  std::vector<predicate> predicates; ///< Of the last decision.
  std::string detail;                ///< Of the last change.
  wall_ms opened_at;
  wall_ms decided_at;
  wall_ms expires_at;
  std::optional<qualification_id> superseded_by;
  std::uint64_t suspended_seq = 0; ///< Of the last suspension: re-verification needs later runs.
  std::uint64_t seq = 0;           ///< Of the last change: the qualification's version.

  friend bool operator==(const qualification_row&, const qualification_row&) = default;
};

struct route_row {
  moves::route route;
  move_id by;             ///< The move that changed it last.
  bool reverting = false; ///< What it carries was put there by a revert.
  wall_ms since;
  std::uint64_t seq = 0;

  friend bool operator==(const route_row&, const route_row&) = default;
};

struct move_row {
  move_proposed plan;
  moves::state state = moves::first_state;
  std::uint32_t steps_done = 0;
  std::uint32_t targets_tried = 0; ///< While reverting: vectors of the inverse plan put in place.
  std::uint64_t generation = 0; ///< The route's, after this move's last change of it; 0 for none.
  std::vector<qualification_id> qualifications; ///< Named by the authorisation.
  std::vector<std::string> waivers;
  std::vector<acknowledgement> acknowledged;
  std::string author;
  std::string detail; ///< Of the last change.
  wall_ms proposed_at;
  wall_ms changed_at; ///< When the present state began.
  digest record;      ///< Hash of the proposal.
  std::uint64_t seq = 0;

  friend bool operator==(const move_row&, const move_row&) = default;
};

struct waiver_row {
  ledger::waiver waiver;
  std::string author;
  wall_ms granted_at;
  bool ended = false;
  std::uint64_t seq = 0;

  friend bool operator==(const waiver_row&, const waiver_row&) = default;
};

struct revocation_row {
  ledger::revocation revocation;
  std::uint64_t seq = 0;

  friend bool operator==(const revocation_row&, const revocation_row&) = default;
};

struct key_row {
  key_issued issued;
  bool revoked = false;
  std::uint64_t seq = 0;

  friend bool operator==(const key_row&, const key_row&) = default;
};

/// What was decided on a host last, and by whom.
struct standing_decided {
  host_duty duty = host_duty::in_service;
  std::string reason;
  std::string author;
  wall_ms since;
  std::uint64_t seq = 0;

  friend bool operator==(const standing_decided&, const standing_decided&) = default;
};

struct identity_row {
  identity_added identity;
  bool revoked = false;
  wall_ms since;
  std::uint64_t seq = 0;
  std::optional<standing_decided> standing; ///< Hosts; nothing: in service since it came.

  friend bool operator==(const identity_row&, const identity_row&) = default;
};

struct token_row {
  token_issued token;
  std::string used_by; ///< The identity that joined by it; empty while unused.
  std::uint64_t seq = 0;

  friend bool operator==(const token_row&, const token_row&) = default;
};

struct job_row {
  job_submitted job;
  std::optional<job_ended> ended;
  wall_ms submitted_at;
  wall_ms ended_at;
  std::uint64_t seq = 0;

  friend bool operator==(const job_row&, const job_row&) = default;
};

// -- rows that only the disk holds ------------------------------------------------------------

/// What the ledger added to a record.
struct stamp {
  std::uint64_t seq = 0;
  std::uint64_t raft_index = 0;
  std::uint64_t raft_term = 0;
  wall_ms stamped_at;
  std::string proposer;
  digest record; ///< record_hash
  digest previous_chain;
  digest chain;

  friend bool operator==(const stamp&, const stamp&) = default;
};

struct record_row {
  ledger::stamp stamp;
  std::string canonical; ///< The record's bytes.

  friend bool operator==(const record_row&, const record_row&) = default;
};

/// Which record a client's id was given to.
struct record_id_row {
  uuid record_id;
  digest record;
  std::uint64_t seq = 0;
  digest chain;
  wall_ms stamped_at;

  friend bool operator==(const record_id_row&, const record_id_row&) = default;
};

/// One record is about one subject. Scan the prefix `subject digest` for a thing's history.
struct subject_row {
  digest what;
  std::uint64_t seq = 0;
  std::string role;

  friend bool operator==(const subject_row&, const subject_row&) = default;
};

/// What a signature covers, kept so that exports verify even where a record was refused.
struct batch_row {
  std::uint64_t raft_index = 0;
  std::uint64_t term = 0;
  wall_ms stamped_at; ///< As signed.
  std::string proposer;
  std::vector<digest> records;     ///< Hashes in order, refused ones too.
  std::vector<std::uint64_t> seqs; ///< For each: its seq, 0 when refused or a repetition.
  std::string signature;           ///< 64 bytes.

  friend bool operator==(const batch_row&, const batch_row&) = default;
};

/// Everything that the state environment stores.
using row = std::variant<
  head_row,
  catalog_row,
  artifact_row,
  stack_row,
  host_row,
  run_row,
  qualification_row,
  route_row,
  move_row,
  waiver_row,
  revocation_row,
  key_row,
  identity_row,
  token_row,
  job_row,
  job_checkpoint,
  usage,
  holding,
  record_row,
  record_id_row,
  subject_row,
  batch_row>;

/// One per alternative of `row`, in its order.
enum class table : std::uint8_t {
  head,
  catalog,
  artifacts,
  stacks,
  hosts,
  runs,
  qualifications,
  routes,
  moves,
  waivers,
  revocations,
  keys,
  identities,
  tokens,
  jobs,
  checkpoints,
  usage,
  holdings,
  records,
  record_ids,
  subjects,
  batches,
};

inline constexpr std::size_t table_count = std::variant_size_v<row>;

std::string_view name(table t);
table table_of(const row& r);

/// The row's key within its table: at most 511 bytes, numbers big endian so that they sort.
std::string key_of(const row& r);

/// Keys for readers that scan: one record, one subject's first row, one declaration.
std::string record_key(std::uint64_t seq);
std::string subject_prefix(const digest& what);
std::string catalog_key(declaration_kind kind, std::string_view name);

/// False for records and their indexes: those are held on disk only.
bool is_in_memory(table t);

// -- the tables -------------------------------------------------------------------------------

template <class Key, class Row>
using held = cow<std::map<Key, Row>>;

struct checkpoint_key {
  job_id job;
  std::uint64_t first = 0;

  friend auto operator<=>(const checkpoint_key&, const checkpoint_key&) = default;
};

struct tables {
  head_row head;

  held<pool_id, declared_row<catalog::pool>> pools;
  held<model_id, declared_row<catalog::model>> models;
  held<artifact_id, declared_row<catalog::artifact>> artifacts;
  held<implementation_id, declared_row<catalog::implementation>> implementations;
  held<profile_id, declared_row<catalog::profile_document>> profiles;
  held<suite_id, declared_row<catalog::suite_document>> suites;
  held<policy_id, declared_row<catalog::policy>> policies;
  held<project_id, declared_row<catalog::project>> projects;
  held<key_id, declared_row<catalog::key>> declared_keys;

  held<artifact_id, artifact_row> artifact_states;
  held<digest, stack_row> stacks;
  held<host_id, host_row> hosts;
  held<std::string, run_row> runs;
  held<qualification_id, qualification_row> qualifications;
  held<model_id, route_row> routes;
  held<move_id, move_row> moves;
  held<std::string, waiver_row> waivers;
  held<digest, revocation_row> revocations;
  held<key_id, key_row> keys;
  held<std::string, identity_row> identities;
  held<std::string, token_row> tokens;
  held<job_id, job_row> jobs;
  held<checkpoint_key, job_checkpoint> checkpoints;
  held<std::pair<key_id, std::int64_t>, ledger::usage> usage;
  held<std::pair<std::string, digest>, ledger::holding> holdings;

  /// Puts one row in place. Rows of tables that only the disk holds are ignored.
  void load(const row& r);

  /// Takes the row with this key away, where it is of a kind that can go: a declaration, the state
  /// of an artifact, a holding.
  void drop(const row& r);
};

/// Equal content, table by table.
bool operator==(const tables& a, const tables& b);

// -- reading ----------------------------------------------------------------------------------

/// The row, or null.
template <class Key, class Row>
const Row* find(const held<Key, Row>& in, const Key& key) {
  auto at = in->find(key);
  return at == in->end() ? nullptr : &at->second;
}

/// The declaration of this kind and name.
std::optional<catalog_row>
find_declaration(const tables& t, declaration_kind kind, std::string_view name);

/// Every declaration, by kind and then by name.
std::vector<catalog_row> all_declarations(const tables& t);

/// The profile that an implementation runs with: its own, or its artifact's.
std::optional<profile_id> profile_of(const tables& t, const catalog::implementation& i);

/// The route's move that has not ended, or null. There is never more than one.
const move_row* open_move(const tables& t, const model_id& model);

/// Done items of a job: ranges in order of their first item.
std::vector<job_checkpoint> checkpoints_of(const tables& t, const job_id& job);

} // namespace assay::ledger
