# What coordinators say to each other: consensus, and the pages of a state that a laggard fetches.
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
  }
}

enum Lane {
  consensus @0;
  bulk @1;
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
