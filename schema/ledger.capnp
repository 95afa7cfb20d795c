@0xb3c1f0a2d47e6895;
# Everything that the qualification ledger writes: records, state entries, batches, rows and exports.
#
# Rules that keep one value to one encoding, and old files readable for ever:
#
# * Bytes are canonical (one segment, no segment table, preorder, trailing zeros cut) and not packed.
#   A reader encodes again what it decoded and refuses any difference.
# * An empty text, list or mapping, and a digest or id of zeros, is a null pointer, never an empty one.
#   Members of a union are never null, however empty.
# * There are no floats. Numbers are scaled integers, and the unit ends the name: Ms since 1970 UTC,
#   S seconds, Ppm parts per million; shares are parts of 10,000.
# * Digests are SHA-256, 32 bytes; `Data` named *Id of 16 bytes is a UUID. Texts are UTF-8.
# * Fields are added at the end, with a default of zero that means "as before". Nothing is renamed to
#   mean something else, moved or removed. tests/schema decodes the encodings of every earlier version.
# * A reader keeps the bytes of a record with fields that it does not know, and so its hash. A field or a
#   kind that apply goes by belongs to a newer schema version (src/ledger/schema.hpp): until the cluster
#   has agreed on it, every member refuses such a record.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("assay::schema");

# -- The record -------------------------------------------------------------------------------------

struct Record {
  # What an asker wrote, and nothing that the ledger adds. `record_hash` is SHA-256 over a domain
  # tag and the canonical bytes of this struct, so a retry has the same hash.
  recordId @0 :Data;
  schemaVersion @1 :UInt16;
  subjects @2 :List(Subject);
  parents @3 :List(Parent);
  author @4 :Author;
  correlationId @5 :Text;
  reasonCode @6 :Text;
  reasonText @7 :Text;
  trust @8 :Trust;
  payload @9 :Payload;
}

struct Author {
  # Who asked, and how we know.
  who @0 :Text;
  how @1 :Authentication;
}

struct Subject {
  # SHA-256 of a kind and a name, and the part it plays. Indexed: the way to a thing's history.
  what @0 :Data;
  role @1 :Text;
}

struct Parent {
  # An earlier record, by hash.
  record @0 :Data;
  relation @1 :Relation;
}

struct Payload {
  # What is said. A kind's number is its ordinal here and stands nowhere else.
  union {
    clusterCreated @0 :ClusterCreated;
    membership @1 :Membership;
    declared @2 :Declared;
    retired @3 :Retired;
    artifactChanged @4 :ArtifactChanged;
    stackSeen @5 :StackSeen;
    evalRun @6 :EvalRun;
    qualificationOpened @7 :QualificationOpened;
    qualificationDecided @8 :QualificationDecided;
    qualificationChanged @9 :QualificationChanged;
    qualificationExtended @10 :QualificationExtended;
    waiver @11 :Waiver;
    waiverEnded @12 :WaiverEnded;
    revocation @13 :Revocation;
    moveProposed @14 :MoveProposed;
    moveAuthorised @15 :MoveAuthorised;
    moveRouteChanged @16 :MoveRouteChanged;
    moveAcked @17 :MoveAcked;
    moveChanged @18 :MoveChanged;
    keyIssued @19 :KeyIssued;
    keyRevoked @20 :KeyRevoked;
    identityAdded @21 :IdentityAdded;
    identityRevoked @22 :IdentityRevoked;
    tokenIssued @23 :TokenIssued;
    jobSubmitted @24 :JobSubmitted;
    jobEnded @25 :JobEnded;
    servingSummary @26 :ServingSummary;
    clusterVersion @27 :ClusterVersion;
    # Of schema version 2:
    hostStanding @28 :HostStanding;
  }
}

struct Entry {
  # A name and its value, of a mapping; sorted by name.
  key @0 :Text;
  value @1 :Text;
}

struct OptionalUInt64 {
  # A number that may be absent: then the pointer is null.
  value @0 :UInt64;
}

# -- The cluster ------------------------------------------------------------------------------------

struct ClusterCreated {
  # The first record of a ledger and only the first.
  cluster @0 :Data;
  name @1 :Text;
}

struct Membership {
  # Who keeps the ledger from now on, and whose signature counts.
  members @0 :List(Member);
}

struct Member {
  # `signingPublic` is an Ed25519 key as 64 hexadecimal digits.
  id @0 :UInt64;
  name @1 :Text;
  address @2 :Text;
  signingPublic @3 :Text;
  voter @4 :Bool;
  curvePublic @5 :Text;  # Z85
  disk @6 :Text;
  agents @7 :Text;   # HOST:PORT
  ingress @8 :Text;  # HOST:PORT
}

struct ClusterVersion {
  # Records of this schema version are taken from now on.
  version @0 :UInt16;
}

# -- Declarations -----------------------------------------------------------------------------------

struct Declared {
  # Adds or replaces a declaration.
  what @0 :Declaration;
}

struct Retired {
  # Takes a declaration away.
  kind @0 :DeclarationKind;
  name @1 :Text;
}

struct Declaration {
  # What an operator declared (src/catalog/declarations.hpp).
  union {
    pool @0 :Pool;
    model @1 :Model;
    artifact @2 :Artifact;
    implementation @3 :Implementation;
    runtimeProfile @4 :ProfileDocument;
    suite @5 :SuiteDocument;
    policy @6 :Policy;
    project @7 :Project;
    key @8 :Key;
  }
}

struct Pool {
  name @0 :Text;
  family @1 :Family;
  compatibility @2 :Bool;
  plaintextAccepted @3 :Bool;
  dataClasses @4 :List(Text);
  labels @5 :List(Entry);
}

struct Model {
  id @0 :Text;
  name @1 :Text;
  version @2 :UInt32;
  promises @3 :ServiceContract;
  evaluationPolicy @4 :Text;
  owner @5 :Text;
}

struct ServiceContract {
  task @0 :Task;
  streaming @1 :Bool;
  cancellation @2 :Bool;
  features @3 :List(Text);
  limits @4 :RequestLimits;
  dataClass @5 :Text;
  objectives @6 :List(Objective);
  degraded @7 :DegradedRule;
  queueKeepalive @8 :Bool;
  exposeMetadata @9 :Bool;
  safetyPolicy @10 :Text;
  safetyRequires @11 :List(Text);
}

struct RequestLimits {
  # 0 means "not limited here".
  contextTokens @0 :UInt32;
  inputTokens @1 :UInt32;
  outputTokens @2 :UInt32;
  bodyBytes @3 :UInt64;
}

struct Objective {
  # A share of requests under a limit, over a window.
  metric @0 :Text;
  limitMs @1 :Int64;
  sharePpm @2 :UInt32;
  windowS @3 :Int64;
}

struct Artifact {
  # Its identity is the manifest of files, not the place.
  id @0 :Text;
  model @1 :Text;
  kind @2 :ArtifactKind;
  location @3 :Text;
  files @4 :List(ArtifactFile);
  profile @5 :Text;
  licence @6 :Text;
  source @7 :Text;
}

struct ArtifactFile {
  path @0 :Text;
  bytes @1 :UInt64;
  sha256 @2 :Data;
}

struct Implementation {
  # `wanted` is a wish: the true status is derived.
  id @0 :Text;
  model @1 :Text;
  pool @2 :Text;
  artifact @3 :Text;
  profile @4 :Text;
  replicas @5 :ReplicaBounds;
  devices @6 :UInt32;
  slots @7 :UInt32;
  limits @8 :RequestLimits;
  args @9 :List(Entry);
  wanted @10 :ImplementationStatus;
}

struct ReplicaBounds {
  min @0 :UInt32;
  max @1 :UInt32;
}

struct ProfileDocument {
  # The text as it was written; `sha256` is of the text.
  name @0 :Text;
  text @1 :Text;
  sha256 @2 :Data;
}

struct SuiteDocument {
  # The text as it was written; `sha256` is of the text.
  name @0 :Text;
  text @1 :Text;
  sha256 @2 :Data;
}

struct Policy {
  name @0 :Text;
  suite @1 :Text;
  scoreAtLeastPpm @2 :UInt32;
  confidencePpm @3 :UInt32;
  itemsAtLeast @4 :UInt32;
  distinctAnswersAtLeast @5 :UInt32;
  validForS @6 :Int64;
  costCeilingNanoPerUnit @7 :OptionalUInt64;
  suspendOnDrift @8 :Bool;
  approvals @9 :UInt32;
}

struct Project {
  name @0 :Text;
  dataClasses @1 :List(Text);
}

struct Key {
  name @0 :Text;
  project @1 :Text;
  traffic @2 :TrafficClass;
  models @3 :List(Text);
}

# -- Artifacts, stacks and evidence -----------------------------------------------------------------

struct ArtifactChanged {
  # `manifest` is what was looked at, so that a late report about older bytes is refused.
  artifact @0 :Text;
  manifest @1 :Data;
  to @2 :ArtifactState;
  host @3 :Text;
  detail @4 :Text;
}

struct StackSeen {
  # A host runs this stack from now on; another digest than before is drift.
  host @0 :Text;
  pool @1 :Text;
  fingerprint @2 :Data;
  fields @3 :List(StackField);
}

struct StackField {
  # Never a port, address, device index, path or secret.
  name @0 :Text;
  value @1 :Text;
}

struct EvalRun {
  # Evidence. Scores are parts per million; `blobs` name raw outputs by digest.
  id @0 :Text;
  qualification @1 :Text;
  implementation @2 :Text;
  stage @3 :RunStage;
  status @4 :RunStatus;
  suite @5 :Data;
  manifest @6 :Data;
  profile @7 :Data;
  fingerprint @8 :Data;
  host @9 :Text;
  items @10 :UInt32;
  passed @11 :UInt32;
  failed @12 :UInt32;
  errors @13 :UInt32;
  distinctAnswers @14 :UInt32;
  scorePpm @15 :UInt32;
  scoreLowerPpm @16 :UInt32;
  confidencePpm @17 :UInt32;
  points @18 :List(EnvelopePoint);
  measures @19 :List(Measure);
  blobs @20 :List(Data);
  startedAtMs @21 :Int64;
  endedAtMs @22 :Int64;
  detail @23 :Text;
}

struct EnvelopePoint {
  # One shape that was tried.
  inputTokens @0 :UInt32;
  outputTokens @1 :UInt32;
  concurrency @2 :UInt32;
  stream @3 :Bool;
  passed @4 :Bool;
}

struct Measure {
  # One named number with its unit.
  name @0 :Text;
  value @1 :Int64;
  unit @2 :Text;
}

# -- Qualification ----------------------------------------------------------------------------------

struct QualificationOpened {
  # What it is about is frozen from the tables when the record is applied.
  id @0 :Text;
  implementation @1 :Text;
  policy @2 :Text;
}

struct QualificationDecided {
  # A verdict over recorded runs.
  id @0 :Text;
  verdict @1 :QualificationEvent;
  runs @2 :List(Text);
  predicates @3 :List(Predicate);
  covers @4 :Envelope;
  expiresAtMs @5 :Int64;
  detail @6 :Text;
}

struct Predicate {
  # One comparison of a decision; `value` and `bound` are both in `unit`.
  name @0 :Text;
  value @1 :Int64;
  bound @2 :Int64;
  unit @3 :Text;
  outcome @4 :PredicateOutcome;
}

struct Envelope {
  # The region of shapes that evidence covers.
  task @0 :Task;
  inputTokens @1 :UInt32;
  outputTokens @2 :UInt32;
  unary @3 :Bool;
  streaming @4 :Bool;
}

struct QualificationChanged {
  # Every event that is not a verdict.
  id @0 :Text;
  event @1 :QualificationEvent;
  by @2 :Text;
  detail @3 :Text;
}

struct QualificationExtended {
  # One more stack joins the set of a qualification that holds.
  id @0 :Text;
  runs @1 :List(Text);
  predicates @2 :List(Predicate);
  detail @3 :Text;
}

struct Waiver {
  # Lets an implementation through named gates until `expiresAtMs`.
  id @0 :Text;
  implementation @1 :Text;
  gates @2 :List(UInt8);
  expiresAtMs @3 :Int64;
  reason @4 :Text;
}

struct WaiverEnded {
  # Ended before its time.
  id @0 :Text;
}

struct Revocation {
  # Withdraws a manifest or a stack for ever.
  target @0 :RevocationTarget;
  what @1 :Data;
  detail @2 :Text;
}

# -- Moves ------------------------------------------------------------------------------------------

struct MoveProposed {
  # A change of a route with its steps and its way back.
  id @0 :Text;
  model @1 :Text;
  expectedGeneration @2 :UInt64;
  before @3 :Vectors;
  after @4 :Vectors;
  steps @5 :List(MoveStep);
  inverse @6 :InversePlan;
  policy @7 :Data;
  guarded @8 :Bool;
  guards @9 :List(Guard);
  bakeMs @10 :UInt64;
  inverseOf @11 :Text;
  cause @12 :Text;
}

struct Vectors {
  # Shares of each class, sorted by implementation.
  interactive @0 :List(Share);
  batch @1 :List(Share);
}

struct Share {
  # In 10,000 parts.
  implementation @0 :Text;
  standing @1 :Standing;
  floor @2 :UInt32;
  ceiling @3 :UInt32;
}

struct MoveStep {
  carried @0 :Vectors;
  holdMs @1 :UInt64;
}

struct InversePlan {
  # The way back, fixed at the proposal and checked again whenever it is used.
  target @0 :Vectors;
  fallback @1 :List(Vectors);
  shedLoad @2 :Bool;
  irreversible @3 :Bool;
  note @4 :Text;
}

struct Guard {
  # Judged by the policy that the proposal froze.
  metric @0 :Text;
  bound @1 :Int64;
  unit @2 :Text;
  windowMs @3 :UInt64;
  samplesAtLeast @4 :UInt32;
}

struct MoveAuthorised {
  # The qualifications and waivers that carry it.
  id @0 :Text;
  qualifications @1 :List(Text);
  waivers @2 :List(Text);
  versions @3 :List(UInt64);
}

struct MoveRouteChanged {
  # The route carries `carried` from `generation` on. Only this changes a route.
  id @0 :Text;
  event @1 :MovesEvent;
  step @2 :UInt32;
  generation @3 :UInt64;
  carried @4 :Vectors;
  guards @5 :Observation;
  detail @6 :Text;
}

struct MoveAcked {
  # Data planes answered.
  id @0 :Text;
  event @1 :MovesEvent;
  nodes @2 :List(Acknowledgement);
}

struct Acknowledgement {
  node @0 :Text;
  generation @1 :UInt64;
}

struct MoveChanged {
  # Every event that neither changes the route nor answers for a data plane.
  id @0 :Text;
  event @1 :MovesEvent;
  guards @2 :Observation;
  detail @3 :Text;
}

# -- Keys, identities, tokens, jobs -----------------------------------------------------------------

struct KeyIssued {
  # `secret` is the SHA-256 of the secret; the secret is nowhere.
  key @0 :Text;
  secret @1 :Data;
  internal @2 :Bool;
  project @3 :Text;
  traffic @4 :TrafficClass;
}

struct KeyRevoked {
  key @0 :Text;
  detail @1 :Text;
}

struct IdentityAdded {
  # `curvePublic` is Z85 text of 40 characters.
  name @0 :Text;
  role @1 :IdentityRole;
  curvePublic @2 :Text;
  pool @3 :Text;
  token @4 :Text;
}

struct IdentityRevoked {
  name @0 :Text;
  detail @1 :Text;
}

enum HostDuty {
  # What a host may be used for.
  inService @0;
  draining @1;
  quarantined @2;
}

struct HostStanding {
  # Somebody decided what the host may be used for from now on.
  host @0 :Text;
  duty @1 :HostDuty;
  reason @2 :Text;
}

struct TokenIssued {
  # One use, at most 15 minutes. `secret` is the SHA-256 of the secret.
  id @0 :Text;
  secret @1 :Data;
  role @2 :IdentityRole;
  pool @3 :Text;
  expiresAtMs @4 :Int64;
}

struct JobSubmitted {
  id @0 :Text;
  project @1 :Text;
  key @2 :Text;
  model @3 :Text;
  input @4 :Data;
  items @5 :UInt64;
  priority @6 :JobPriority;
  name @7 :Text;
  options @8 :List(Entry);
}

struct JobEnded {
  id @0 :Text;
  end @1 :JobEnd;
  succeeded @2 :UInt64;
  failed @3 :UInt64;
  detail @4 :Text;
}

struct ServingSummary {
  # What one ingress, since it was started, sent to one implementation of a route in one hour.
  # `decisions` is a digest over every decision, in the order in which they ended.
  ingress @0 :Text;
  boot @1 :UInt64;
  hourMs @2 :Int64;
  route @3 :Text;
  implementation @4 :Text;
  interactive @5 :UInt64;
  batch @6 :UInt64;
  served @7 :UInt64;
  refused @8 :UInt64;
  failed @9 :UInt64;
  clientGone @10 :UInt64;
  inputTokens @11 :UInt64;
  outputTokens @12 :UInt64;
  firstGeneration @13 :UInt64;
  lastGeneration @14 :UInt64;
  firstEndedMs @15 :Int64;
  lastEndedMs @16 :Int64;
  decisions @17 :Data;
}

# -- State entries ----------------------------------------------------------------------------------

struct StateEntry {
  # Replicated, overwritten in place, not chained, not exported.
  union {
    jobCheckpoint @0 :JobCheckpoint;
    usage @1 :Usage;
    holding @2 :Holding;
  }
}

struct JobCheckpoint {
  # Items [first, first + count) of a job are done; their lines are in two blobs.
  job @0 :Text;
  first @1 :UInt64;
  count @2 :UInt64;
  succeeded @3 :UInt64;
  failed @4 :UInt64;
  output @5 :Data;
  errors @6 :Data;
}

struct Usage {
  key @0 :Text;
  hourMs @1 :Int64;
  requests @2 :UInt64;
  inputTokens @3 :UInt64;
  outputTokens @4 :UInt64;
}

struct Holding {
  # Who holds which bytes.
  holder @0 :Text;
  what @1 :Data;
  held @2 :Bool;
}

# -- Proposals and batches -------------------------------------------------------------------------

struct Proposal {
  # What a proposer hands to the leader, and one element of a batch: bytes that are canonical by
  # themselves.
  union {
    record @0 :Data;
    state @1 :Data;
  }
}

struct Batch {
  # The content of one Raft entry. `signature` is Ed25519 over SHA-256(domain, cluster, term,
  # stampedAtMs, record hashes in order).
  term @0 :UInt64;
  stampedAtMs @1 :Int64;
  proposer @2 :Text;
  entries @3 :List(Proposal);
  signature @4 :Data;
}

# -- Rows of the state environment ------------------------------------------------------------------

struct Row {
  # A value of the state environment. Its key is made from its fields (ledger::key_of).
  union {
    head @0 :HeadRow;
    catalog @1 :CatalogRow;
    artifact @2 :ArtifactRow;
    stack @3 :StackRow;
    host @4 :HostRow;
    run @5 :RunRow;
    qualification @6 :QualificationRow;
    route @7 :RouteRow;
    move @8 :MoveRow;
    waiver @9 :WaiverRow;
    revocation @10 :RevocationRow;
    key @11 :KeyRow;
    identity @12 :IdentityRow;
    token @13 :TokenRow;
    job @14 :JobRow;
    checkpoint @15 :JobCheckpoint;
    usage @16 :Usage;
    holding @17 :Holding;
    record @18 :RecordRow;
    recordId @19 :RecordIdRow;
    subject @20 :SubjectRow;
    batch @21 :BatchRow;
  }
}

struct HeadRow {
  # Where the ledger stands.
  cluster @0 :Data;
  name @1 :Text;
  seq @2 :UInt64;
  chain @3 :Data;
  stampedAtMs @4 :Int64;
  appliedIndex @5 :UInt64;
  appliedTerm @6 :UInt64;
  members @7 :List(Member);
  lastMember @8 :UInt64;
  schemaVersion @9 :UInt16;
}

struct CatalogRow {
  what @0 :Declaration;
  record @1 :Data;
  seq @2 :UInt64;
}

struct ArtifactRow {
  # `state` of the manifest that is declared now.
  artifact @0 :Text;
  manifest @1 :Data;
  state @2 :ArtifactState;
  trust @3 :Trust;
  registeredBy @4 :Text;
  host @5 :Text;
  detail @6 :Text;
  seq @7 :UInt64;
}

struct StackRow {
  fingerprint @0 :Data;
  fields @1 :List(StackField);
  firstSeq @2 :UInt64;
}

struct HostRow {
  host @0 :Text;
  pool @1 :Text;
  fingerprint @2 :Data;
  previous @3 :Data;
  sinceMs @4 :Int64;
  seq @5 :UInt64;
}

struct RunRow {
  run @0 :EvalRun;
  record @1 :Data;
  seq @2 :UInt64;
}

struct QualificationRow {
  id @0 :Text;
  implementation @1 :Text;
  state @2 :QualificationState;
  policy @3 :Policy;
  policyRecord @4 :Data;
  suite @5 :Data;
  manifest @6 :Data;
  profile @7 :Data;
  attempts @8 :UInt32;
  runs @9 :List(Text);
  fingerprints @10 :List(Data);
  covers @11 :Envelope;
  predicates @12 :List(Predicate);
  detail @13 :Text;
  openedAtMs @14 :Int64;
  decidedAtMs @15 :Int64;
  expiresAtMs @16 :Int64;
  supersededBy @17 :Text;
  suspendedSeq @18 :UInt64;
  seq @19 :UInt64;
}

struct RouteRow {
  route @0 :Route;
  by @1 :Text;
  reverting @2 :Bool;
  sinceMs @3 :Int64;
  seq @4 :UInt64;
}

struct MoveRow {
  plan @0 :MoveProposed;
  state @1 :MovesState;
  stepsDone @2 :UInt32;
  targetsTried @3 :UInt32;
  generation @4 :UInt64;
  qualifications @5 :List(Text);
  waivers @6 :List(Text);
  acknowledged @7 :List(Acknowledgement);
  author @8 :Text;
  detail @9 :Text;
  proposedAtMs @10 :Int64;
  changedAtMs @11 :Int64;
  record @12 :Data;
  seq @13 :UInt64;
}

struct WaiverRow {
  waiver @0 :Waiver;
  author @1 :Text;
  grantedAtMs @2 :Int64;
  ended @3 :Bool;
  seq @4 :UInt64;
}

struct RevocationRow {
  revocation @0 :Revocation;
  seq @1 :UInt64;
}

struct KeyRow {
  issued @0 :KeyIssued;
  revoked @1 :Bool;
  seq @2 :UInt64;
}

struct IdentityRow {
  identity @0 :IdentityAdded;
  revoked @1 :Bool;
  sinceMs @2 :Int64;
  seq @3 :UInt64;
  standing @4 :StandingDecided;  # absent: nobody decided on it yet
}

struct StandingDecided {
  # Of a host, as it was decided last.
  duty @0 :HostDuty;
  reason @1 :Text;
  author @2 :Text;
  sinceMs @3 :Int64;
  seq @4 :UInt64;
}

struct TokenRow {
  token @0 :TokenIssued;
  usedBy @1 :Text;
  seq @2 :UInt64;
}

struct JobRow {
  job @0 :JobSubmitted;
  ended @1 :JobEnded;
  submittedAtMs @2 :Int64;
  endedAtMs @3 :Int64;
  seq @4 :UInt64;
}

struct RecordRow {
  # A record as it was taken, with what the ledger added.
  stamp @0 :Stamp;
  canonical @1 :Data;
}

struct RecordIdRow {
  # Which record a client's id was given to.
  recordId @0 :Data;
  record @1 :Data;
  seq @2 :UInt64;
  chain @3 :Data;
  stampedAtMs @4 :Int64;
}

struct SubjectRow {
  # One record is about one subject.
  what @0 :Data;
  seq @1 :UInt64;
  role @2 :Text;
}

struct BatchRow {
  # What a signature covers. `records` holds hashes in order, refused ones too; `seqs` has 0 for
  # those that were refused or repeated.
  raftIndex @0 :UInt64;
  term @1 :UInt64;
  stampedAtMs @2 :Int64;
  proposer @3 :Text;
  records @4 :List(Data);
  seqs @5 :List(UInt64);
  signature @6 :Data;
}

struct Route {
  model @0 :Text;
  generation @1 :UInt64;
  carried @2 :Vectors;
}

struct Stamp {
  # What the ledger added to a record.
  seq @0 :UInt64;
  raftIndex @1 :UInt64;
  raftTerm @2 :UInt64;
  stampedAtMs @3 :Int64;
  proposer @4 :Text;
  record @5 :Data;
  previousChain @6 :Data;
  chain @7 :Data;
}

# -- Exports ----------------------------------------------------------------------------------------

struct ExportFrame {
  # A file is a header, batches, and a signed head; each frame after four bytes of length.
  union {
    header @0 :ExportHeader;
    batch @1 :ExportBatch;
    head @2 :ExportHead;
  }
}

struct ExportHeader {
  format @0 :UInt32;
  cluster @1 :Data;
  genesis @2 :Data;
}

struct ExportBatch {
  # `canonical` has the bytes of each record with a seq, in order.
  batch @0 :BatchRow;
  canonical @1 :List(Data);
}

struct ExportHead {
  # `signature` covers cluster, seq and chain.
  seq @0 :UInt64;
  chain @1 :Data;
  signer @2 :Text;
  signature @3 :Data;
}

# -- Enumerations -----------------------------------------------------------------------------------

enum ArtifactKind {
  gguf @0;
  huggingface @1;
  onnx @2;
  engine @3;
  neff @4;
  stablehlo @5;
  repository @6;
  adopted @7;
}

enum ArtifactState {
  registered @0;
  present @1;
  verified @2;
  quarantined @3;
  deprecated @4;
  tombstoned @5;
}

enum Authentication {
  process @0;
  socket @1;
  apiKey @2;
  curve @3;
  munge @4;
  token @5;
}

enum DeclarationKind {
  pool @0;
  model @1;
  artifact @2;
  implementation @3;
  runtimeProfile @4;
  suite @5;
  policy @6;
  project @7;
  key @8;
}

enum DegradedRule {
  keep @0;
  shrink @1;
  stop @2;
}

enum Family {
  cpu @0;
  nvidia @1;
  amd @2;
  neuron @3;
  tpu @4;
  plugin @5;
}

enum IdentityRole {
  coordinator @0;
  ingress @1;
  host @2;
  jobAgent @3;
}

enum ImplementationStatus {
  draft @0;
  canary @1;
  production @2;
  batchOnly @3;
  suspended @4;
  retired @5;
}

enum JobEnd {
  finished @0;
  failed @1;
  cancelled @2;
}

enum JobPriority {
  urgent @0;
  normal @1;
  backfill @2;
}

enum MovesEvent {
  authorise @0;
  deny @1;
  stage @2;
  cancel @3;
  step @4;
  acked @5;
  bakeOver @6;
  confirm @7;
  abort @8;
  retarget @9;
  revertAcked @10;
  exhausted @11;
  manualVector @12;
}

enum MovesState {
  proposed @0;
  authorised @1;
  staged @2;
  ramping @3;
  holding @4;
  observing @5;
  committed @6;
  denied @7;
  cancelled @8;
  reverting @9;
  reverted @10;
  revertFailed @11;
}

enum Observation {
  none @0;
  pass @1;
  fail @2;
  noData @3;
}

enum PredicateOutcome {
  pass @0;
  fail @1;
  noData @2;
}

enum QualificationEvent {
  start @0;
  pass @1;
  fail @2;
  noEvidence @3;
  moreRuns @4;
  giveUp @5;
  drift @6;
  regression @7;
  keyCompromise @8;
  reverifyPass @9;
  expire @10;
  revoke @11;
  supersede @12;
}

enum QualificationState {
  draft @0;
  evaluating @1;
  qualified @2;
  rejected @3;
  inconclusive @4;
  suspended @5;
  expired @6;
  revoked @7;
  superseded @8;
}

enum Relation {
  evidence @0;
  policy @1;
  supersedes @2;
  inverseOf @3;
  causedBy @4;
}

enum RevocationTarget {
  artifact @0;
  fingerprint @1;
}

enum RunStage {
  contract @0;
  numeric @1;
  task @2;
  performance @3;
  cost @4;
}

enum RunStatus {
  complete @0;
  aborted @1;
  invalid @2;
}

enum Standing {
  production @0;
  canary @1;
  batchOnly @2;
}

enum Task {
  chat @0;
  completion @1;
  embedding @2;
  rerank @3;
  infer @4;
}

enum TrafficClass {
  interactive @0;
  batch @1;
  evaluation @2;
  shadow @3;
}

enum Trust {
  claimed @0;
  measured @1;
  verified @2;
}
