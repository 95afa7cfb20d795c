# What a node agent and a coordinator say to each other, and nothing else.
#
# Each direction has one struct with a union; one ZeroMQ payload frame holds one message, unpacked, in
# at most 16 segments. These bytes are never hashed or stored, so numbers may be floats. A reader that meets a
# union member or an enum value that it does not know ignores the message and counts it (a closing is one
# whatever its reason), so members are only ever added, at the end, and no ordinal changes its meaning. The values are
# src/wire/fabric_messages.hpp, the rules of a session docs/fabric.md.

@0x827503637b433cc5;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("assay::schema::fabric");

struct FromAgent {
  union {
    hello @0 :Hello;
    heartbeat @1 :Void;
    inventory @2 :Inventory;
    replicaReport @3 :ReplicaReport;
    artifactReport @4 :ArtifactReport;
    nativeSamples @5 :List(NativeSample);
    logChunk @6 :AnyPointer;  # never said; no reader takes it
    adoptOffer @7 :AdoptOffer;
    join @8 :Join;
    deviceEvents @9 :List(DeviceEvent);
  }
}

struct FromCoordinator {
  union {
    welcome @0 :Welcome;
    heartbeat @1 :UInt64;  # the epoch
    startReplica @2 :StartReplica;
    stopReplica @3 :StopReplica;
    adoptReplica @4 :AdoptReplica;
    forgetReplica @5 :AnyPointer;  # never said; no reader takes it
    verifyArtifact @6 :VerifyArtifact;
    drainHost @7 :DrainHost;
    wantLog @8 :AnyPointer;  # never said; no reader takes it
    closing @9 :Closing;
    joined @10 :Joined;
    adoptOutcome @11 :AdoptOutcome;
  }
}

struct NamedText {
  name @0 :Text;
  value @1 :Text;
}

# -- agent to coordinator --

# The first message of a session.
struct Hello {
  protocol @0 :UInt32;
  session @1 :UInt64;  # grows with every session of one agent; the newest wins
  bootId @2 :Text;
  hostName @3 :Text;
  agentVersion @4 :Text;
}

enum Family {
  cpu @0;
  nvidia @1;
  amd @2;
  neuron @3;
  tpu @4;
  plugin @5;
}

struct Device {
  family @0 :Family;
  id @1 :Text;  # UUID or PCI address, never an index
  name @2 :Text;
  memoryBytes @3 :UInt64;
  state @4 :DeviceState;
  why @5 :Text;  # of any state but offered
}

enum DeviceState {
  offered @0;
  withheld @1;
  sick @2;
  lost @3;
}

# What happened to a device, in its vendor's words.
struct DeviceEvent {
  family @0 :Family;
  device @1 :Text;
  name @2 :Text;
  code @3 :Int64;
  text @4 :Text;
  at @5 :Int64;  # ms since 1970 UTC
}

# The whole of what a host has.
struct Inventory {
  devices @0 :List(Device);
  hostMemoryBytes @1 :UInt64;
  cpus @2 :UInt32;
  runtimes @3 :List(Text);
  fingerprintSum @4 :Data;  # SHA-256
  fingerprintFields @5 :List(NamedText);
}

enum Phase {
  absent @0;
  starting @1;
  loading @2;
  proving @3;
  ready @4;
  saturated @5;
  suspect @6;
  draining @7;
  stopping @8;
  gone @9;
  failed @10;
}

# The whole of what is known of one replica.
struct ReplicaReport {
  replica @0 :Text;
  implementation @1 :Text;
  generation @2 :UInt64;
  phase @3 :Phase;
  address @4 :Text;
  port @5 :UInt16;
  secret @6 :Text;
  slots @7 :UInt32;
  fingerprint @8 :Data;  # SHA-256
  reason @9 :Text;
  exit :union {
    none @10 :Void;
    code @11 :Int32;
    signal @12 :Int32;
  }
  exitMeaning @13 :Text;
  logTail @14 :Data;
  startedAt @15 :Int64;  # ms since 1970 UTC
  adopted @16 :Bool;
  loopback @17 :Text;  # which one its host's 127.0.0.1 is; empty: not told
  engine @18 :Text;  # the version that the engine gave; empty: none yet, or it gives none
  devices @19 :List(Text);  # ids of those it was started on
}

enum ArtifactState {
  absent @0;
  verifying @1;
  verified @2;
  mismatched @3;
  unreadable @4;
}

struct ArtifactReport {
  artifact @0 :Text;
  manifest @1 :Data;  # SHA-256
  state @2 :ArtifactState;
  checkedBytes @3 :UInt64;
  totalBytes @4 :UInt64;
  problem @5 :Text;
}

# A vendor's own metric under its own name and unit.
struct NativeSample {
  family @0 :Family;
  name @1 :Text;
  unit @2 :Text;
  device @3 :Text;
  union {
    value @4 :Float64;
    unsupported @5 :Void;
    unavailable @6 :Void;
    failed @7 :Int32;  # the vendor's code
    text @10 :Text;
  }
  at @8 :Int64;     # ms since 1970 UTC
  ageMs @9 :Int64;  # when it was sent
}

struct AdoptOffer {
  url @0 :Text;
  model @1 :Text;
  profile @2 :Text;
  project @3 :Text;
  endsAt :union {  # not said any more, and never acted upon
    never @4 :Void;
    at @5 :Int64;
  }
  number @6 :UInt64;  # the agent's; the answer repeats it
}

# From the holder of a join token, and the only thing it may say.
struct Join {
  name @0 :Text;
  key @1 :Data;  # 32 bytes, Curve25519
  member @2 :JoiningMember;  # absent: a host joins
}

# What whoever asks to hold the ledger says of itself. Addresses are HOST:PORT.
struct JoiningMember {
  name @0 :Text;  # the same as the join's
  peers @1 :Text;
  agents @2 :Text;   # of its hub; empty: it has none
  ingress @3 :Text;  # empty: it has none
  signingPublic @4 :Text;  # Ed25519, 64 hexadecimal digits
  disk @5 :Text;
  schemaVersion @6 :UInt32;
  clock @7 :Int64;  # ms since 1970 UTC
}

# -- coordinator to agent --

# Where a hub is, HOST:PORT, and the key that it proves itself with.
struct CoordinatorAt {
  address @0 :Text;
  key @1 :Data;  # 32 bytes, Curve25519
}

# A command carries the Raft term of the coordinator that gave it.

struct Welcome {
  protocol @0 :UInt32;
  epoch @1 :UInt64;
  session @2 :UInt64;
  heartbeatMs @3 :UInt32;
  identity @4 :Text;
  coordinators @5 :List(CoordinatorAt);
}

struct ArtifactFile {
  path @0 :Text;
  bytes @1 :UInt64;
  sha256 @2 :Data;
}

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

struct ArtifactManifest {
  id @0 :Text;
  kind @1 :ArtifactKind;
  location @2 :Text;
  files @3 :List(ArtifactFile);
}

struct StartReplica {
  epoch @0 :UInt64;
  replica @1 :Text;
  implementation @2 :Text;
  model @3 :Text;
  generation @4 :UInt64;
  profile @5 :Text;
  profileText @6 :Text;
  artifact @7 :ArtifactManifest;
  slots @8 :UInt32;
  contextTokens @9 :UInt32;  # limits: zero means not limited here
  inputTokens @10 :UInt32;
  outputTokens @11 :UInt32;
  bodyBytes @12 :UInt64;
  args @13 :List(NamedText);
  devices @14 :List(Text);
  plaintextAccepted @15 :Bool;  # it may listen where other hosts reach it, without TLS
}

struct StopReplica {
  epoch @0 :UInt64;
  replica @1 :Text;
  generation @2 :UInt64;
  reason @3 :Text;
  graceMs @4 :UInt32;
}

struct AdoptReplica {
  epoch @0 :UInt64;
  replica @1 :Text;
  implementation @2 :Text;
  model @3 :Text;
  generation @4 :UInt64;
  profile @5 :Text;
  profileText @6 :Text;
  url @7 :Text;
  slots @8 :UInt32;
}

struct VerifyArtifact {
  epoch @0 :UInt64;
  artifact @1 :ArtifactManifest;
}

struct DrainHost {
  epoch @0 :UInt64;
  on @1 :Bool;
  reason @2 :Text;
  decidedAt @3 :Int64;  # ms since 1970 UTC; not on: what happened to devices before is forgiven
}

# What became of an offer.
struct AdoptOutcome {
  number @0 :UInt64;  # of the offer
  implementation @1 :Text;  # what it is called from now on; empty: it was not taken
  what @2 :Text;  # why not
  next @3 :Text;  # what to do
}

enum ClosingReason {
  shuttingDown @0;
  noSession @1;
  superseded @2;
  revoked @3;
  protocol @4;
}

struct Closing {
  reason @0 :ClosingReason;
  text @1 :Text;
  # There: the coordinator does not lead, and the reason stands for readers who know no such thing.
  elsewhere @2 :Elsewhere;
}

struct Elsewhere {
  leader @0 :CoordinatorAt;  # absent: not known
  coordinators @1 :List(CoordinatorAt);
}

struct Joined {
  accepted @0 :Bool;
  identity @1 :Text;
  text @2 :Text;
  leader @3 :CoordinatorAt;  # there: not accepted here, ask that one with the same token
  coordinators @4 :List(CoordinatorAt);
  cluster @5 :JoinedCluster;  # there when a member was accepted
}

struct JoinedCluster {
  cluster @0 :Data;  # 16 bytes, UUID
  name @1 :Text;
  node @2 :UInt64;  # the new member's own id
  members @3 :List(ClusterMember);
}

struct ClusterMember {
  node @0 :UInt64;
  name @1 :Text;
  peers @2 :Text;  # HOST:PORT
  key @3 :Data;  # 32 bytes, Curve25519
  disk @4 :Text;
  votes @5 :Bool;
}
