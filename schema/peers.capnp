# What coordinators say to each other: consensus, the pages of a state that a laggard fetches, what the
# leader's pools and the others' ingresses exchange, requests to the admin API that are passed on, and blobs.
#
# One ZeroMQ payload frame holds one message, unpacked, in at most 16 segments. Nothing here is hashed
# or stored. A reader that meets a union member which it does not know ignores the message and counts
# it, so members are only ever added, at the end, and no ordinal changes its meaning. The values are
# src/wire/peer_messages.hpp, what is checked of them src/wire/peer_checks.hpp, the rules of a link
# docs/peers.md.

@0x9c1f0d4b7a3e5826;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("assay::schema::peers");

struct PeerMessage {
  union {
    hello @0 :Hello;
    welcome @1 :UInt64;  # the session that the hello named
    beat @2 :Void;
    closing @3 :Closing;
    consensus @4 :Consensus;
    stateRequest @5 :StateRequest;
    statePage @6 :StatePage;
    ingressHello @7 :IngressHello;
    ingressReport @8 :IngressReport;
    ticketAsk @9 :TicketAsk;
    ticketWithdraw @10 :TicketWithdraw;
    poolsNow @11 :PoolsNow;
    poolState @12 :PoolState;
    lease @13 :Lease;
    ticketAdmit @14 :TicketAdmit;
    ticketRefuse @15 :TicketRefuse;
    adminAsk @16 :AdminAsk;
    adminAnswer @17 :AdminAnswer;
    clock @18 :Int64;  # the sender's wall clock, ms since 1970 UTC
    blobOffer @19 :BlobOffer;
    blobWant @20 :BlobWant;
    blobPage @21 :BlobPage;
    blobKept @22 :BlobKept;
    serviceTold @23 :Data;  # a record of kind servingSummary, as it is proposed
    serviceKept @24 :ServiceKept;
    syncMs @25 :UInt32;  # how long a sync of the sender's log takes of late; 0: it wrote little
    diskTold @26 :DiskTold;
  }
}

enum Lane {
  consensus @0;
  bulk @1;
  service @2;
}

# The first message of every connection, by whoever dialled it.
struct Hello {
  protocol @0 :UInt32;
  session @1 :UInt64;  # grows with every connection of one lane; the newest wins
  lane @2 :Lane;
  cluster @3 :Data;    # 16 bytes
  node @4 :UInt64;
  disk @5 :Text;
  schemaVersion @6 :UInt32;
}

enum ClosingReason {
  shuttingDown @0;
  superseded @1;
  revoked @2;
  protocol @3;
  otherCluster @4;
  otherNode @5;
  otherDisk @6;
}

struct Closing {
  reason @0 :ClosingReason;
  text @1 :Text;
}

struct Consensus {
  from @0 :UInt64;
  to @1 :UInt64;
  run @2 :UInt64;
  sequence @3 :UInt64;
  version @4 :UInt8;
  term @5 :UInt64;
  union {
    requestVote @6 :RequestVote;
    requestVoteResult @7 :RequestVoteResult;
    appendEntries @8 :AppendEntries;
    appendEntriesResult @9 :AppendEntriesResult;
    installSnapshot @10 :InstallSnapshot;
    timeoutNow @11 :TimeoutNow;
  }
}

struct RequestVote {
  candidate @0 :UInt64;
  lastIndex @1 :UInt64;
  lastTerm @2 :UInt64;
  disruptsLeader @3 :Bool;
  isPreVote @4 :Bool;
}

struct RequestVoteResult {
  isGranted @0 :Bool;
  isPreVote @1 :Bool;
  features @2 :UInt16;
  capacity @3 :UInt16;
}

struct Entry {
  term @0 :UInt64;
  kind @1 :UInt8;  # 1 command, 2 barrier, 3 change
  bytes @2 :Data;
}

struct AppendEntries {
  previousIndex @0 :UInt64;
  previousTerm @1 :UInt64;
  commit @2 :UInt64;
  entries @3 :List(Entry);
}

struct AppendEntriesResult {
  rejected @0 :UInt64;
  lastIndex @1 :UInt64;
  features @2 :UInt16;
  capacity @3 :UInt16;
}

struct InstallSnapshot {
  index @0 :UInt64;
  term @1 :UInt64;  # of the entry at index
  configurationIndex @2 :UInt64;
  configuration @3 :Data;  # as in an entry of a change
}

struct TimeoutNow {
  lastIndex @0 :UInt64;
  lastTerm @1 :UInt64;
}

# The next page of a state's rows, behind the key `after`.
struct StateRequest {
  from @0 :UInt64;
  to @1 :UInt64;
  attempt @2 :UInt64;
  atLeast @3 :UInt64;  # the state must hold what was applied up to this index
  after @4 :Data;
}

struct Row {
  key @0 :Data;
  value @1 :Data;
}

struct StatePage {
  from @0 :UInt64;
  to @1 :UInt64;
  attempt @2 :UInt64;
  after @3 :Data;      # as asked
  isRefused @4 :Bool;
  rows @5 :List(Row);  # keys ascending
  isLast @6 :Bool;     # then the rest is set
  index @7 :UInt64;    # of the last entry that the state holds
  term @8 :UInt64;
  root @9 :Data;       # 32 bytes, over all rows of all pages
}

# -- ingresses and the leader's pools. Every epoch is a Raft term; milliseconds are what was left when the
# message was made, or a clock of the ingress that only it can read.

struct IngressHello {
  epoch @0 :UInt64;
  ingress @1 :Text;
  boot @2 :UInt64;
}

struct EndpointKey {
  address @0 :Text;
  generation @1 :UInt64;
}

struct Holding {
  endpoint @0 :EndpointKey;
  credits @1 :UInt32;
  inFlight @2 :UInt32;
  finished @3 :UInt64;
  grant @4 :UInt64;
}

struct IngressReport {
  epoch @0 :UInt64;
  pool @1 :Text;
  atMs @2 :Int64;
  holdings @3 :List(Holding);  # all of them
  settled @4 :List(UInt64);
  seq @5 :UInt64;  # of the newest record that it routes by; 0: it has no routes
}

struct TicketAsk {
  epoch @0 :UInt64;
  pool @1 :Text;
  ticket @2 :UInt64;
  traffic @3 :UInt8;  # 0 interactive, 1 batch, 2 evaluation, 3 shadow
  project @4 :Text;
  acceptable @5 :List(Text);
  excluded @6 :List(EndpointKey);
  leftMs @7 :Int64;
}

struct TicketWithdraw {
  epoch @0 :UInt64;
  pool @1 :Text;
  ticket @2 :UInt64;
}

struct PoolsNow {
  epoch @0 :UInt64;
  pools @1 :List(Text);  # all of them
}

struct HostView {
  id @0 :Text;
  session @1 :UInt64;
  isConnected @2 :Bool;
  isDraining @3 :Bool;
  devices @4 :UInt32;
  devicesFree @5 :UInt32;
  memoryBytes @6 :UInt64;
  fingerprint @7 :Data;     # 32 bytes
  verified @8 :List(Data);  # 32 bytes each
}

struct ReplicaView {
  id @0 :Text;
  implementation @1 :Text;
  host @2 :Text;
  generation @3 :UInt64;
  phase @4 :UInt8;  # in the order of src/pool/replica.hpp
  takesTraffic @5 :Bool;
  address @6 :Text;
  secret @7 :Text;
  fingerprint @8 :Data;  # 32 bytes
  slots @9 :UInt32;
  credits @10 :UInt32;
  inFlight @11 :UInt32;
  devices @12 :List(Text);
  reason @13 :Text;
}

struct ImplementationView {
  id @0 :Text;
  replicasMin @1 :UInt32;
  replicasMax @2 :UInt32;
  ready @3 :UInt32;
  live @4 :UInt32;
  failures @5 :UInt32;
  hasGivenUp @6 :Bool;
  isArtifactVerified @7 :Bool;
  waitsFor @8 :Text;
}

struct PoolState {
  epoch @0 :UInt64;
  pool @1 :Text;
  hosts @2 :List(HostView);
  replicas @3 :List(ReplicaView);
  implementations @4 :List(ImplementationView);
  waiting @5 :List(UInt32);  # by traffic class
  oldestMs @6 :Int64;
  isRateKnown @7 :Bool;
  servedPerSecond @8 :Float64;
}

struct Lease {
  epoch @0 :UInt64;
  pool @1 :Text;
  endpoint @2 :EndpointKey;
  credits @3 :UInt32;
  degraded @4 :UInt8;  # 0 keep, 1 shrink, 2 stop
  waiting @5 :UInt8;   # 0 nobody, 1 batch, 2 interactive
  number @6 :UInt64;
  heardMs @7 :Int64;   # atMs of the last report that had arrived
  leftMs @8 :Int64;
}

struct TicketAdmit {
  epoch @0 :UInt64;
  pool @1 :Text;
  ticket @2 :UInt64;
  implementation @3 :Text;
  endpoint @4 :EndpointKey;
}

struct TicketRefuse {
  epoch @0 :UInt64;
  pool @1 :Text;
  ticket @2 :UInt64;
  why @3 :UInt8;  # 0 queue full, 1 waited too long, 2 no replica
  retryAfterS @4 :UInt32;
  isMeasured @5 :Bool;
}

# -- what an ingress served, for the ledger

struct ServiceKept {
  record @0 :Data;  # its record id, 16 bytes
  why @1 :Text;     # why it will never be on record; empty: it is
}

# What is wrong with the sender's disk.
struct DiskTold {
  full @0 :Bool;     # it proposes nothing until there is room
  damaged @1 :Bool;  # its records do not fit the chain
}

# -- the admin API

struct AdminAsk {
  number @0 :UInt64;  # the answer has the same
  method @1 :Text;
  path @2 :Text;
  query @3 :Text;
  body @4 :Data;
  who @5 :Text;
  how @6 :UInt8;
}

struct AdminAnswer {
  number @0 :UInt64;
  status @1 :UInt32;
  contentType @2 :Text;
  body @3 :Data;
}

# -- blobs. Whoever lacks one asks for its pages, one after the other; nobody is sent what was not asked for.

# A record that names this blob waits until a majority has said `blobKept`.
struct BlobOffer {
  blob @0 :Data;  # its SHA-256, 32 bytes, as everywhere below
  size @1 :UInt64;
}

struct BlobWant {
  blob @0 :Data;
  offset @1 :UInt64;  # a multiple of 512 KiB
}

# Every page but the last holds 512 KiB.
struct BlobPage {
  blob @0 :Data;
  offset @1 :UInt64;   # as asked
  size @2 :UInt64;     # of the whole blob
  isMissing @3 :Bool;  # the sender does not have it; then there are no bytes
  bytes @4 :Data;
}

# It is on the sender's disk.
struct BlobKept {
  blob @0 :Data;
}
