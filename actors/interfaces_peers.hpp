#pragma once
// What lets an INGRESS and POOL COORDINATORs of two processes speak as if they were in one.
//
// clang-format off
//   on a follower:  INGRESS --reports, tickets--> POOL LINK ---> the leader's process
//                   INGRESS <--views, leases, ticket answers-- POOL LINK <--- the leader's process
//   on the leader:  POOL COORDINATOR <---> INGRESS LINK <---> an ingress's process
//   SERVICE LINKS makes both kinds, knows who leads, and gives INGRESS its pools
//   INGRESS --hours of service--> SERVICE BOOK --propose--> LEDGER, or ---> the leader's SERVICE BOOK
// clang-format on

#include "actors/interfaces.hpp"
#include "src/fabric/peer_links.hpp"

namespace assay {

// -- POOL LINK

/// A pool of the leader as it appears on a follower. One stands for one pool, one epoch, and one
/// answer to a hello; after that another takes its place.
using pool_link_actor = pool_actor::extend<
  // What the leader says of this pool, of the link's own epoch.
  caf::reacts_to<peers::pool_state>,
  caf::reacts_to<peers::lease>,
  caf::reacts_to<peers::ticket_admit>,
  caf::reacts_to<peers::ticket_refuse>>;

// -- INGRESS LINK

/// What was said to the ingress before may be lost: say all of it again.
struct begin_anew {
  bool restarted = false; ///< Its process is another one: nothing that it held or asked is left.
};

/// Whether what is sent to the ingress's process reaches it.
struct reached {
  bool is_reached = false;
};

/// Another process's ingress as it appears on the leader, for one epoch.
using ingress_link_actor = ingress_actor::extend<
  // What the ingress says, of the link's own epoch.
  caf::reacts_to<peers::ingress_report>,
  caf::reacts_to<peers::ticket_ask>,
  caf::reacts_to<peers::ticket_withdraw>,
  caf::reacts_to<begin_anew>,
  caf::reacts_to<reached>>;

// -- SERVICE LINKS

/// How this assayd stands in its group. An older epoch than the last one told is ignored.
struct standing {
  bool leads = false;
  std::uint64_t epoch = 0;
  std::uint64_t leader = 0; ///< 0: none is known.

  friend bool operator==(const standing&, const standing&) = default;
};

/// What is sent to this coordinator on the service lane reaches it from now on, or no more.
struct peer_up {
  std::uint64_t node = 0;
};
struct peer_down {
  std::uint64_t node = 0;
};

/// A message of the service lane.
struct peer_said {
  std::uint64_t node = 0;
  peers::message what;
};

/// The POOL COORDINATORs of this process, from its SUPERVISOR. Used only while this assayd leads
/// that epoch.
struct local_pools {
  std::uint64_t epoch = 0;
  std::map<pool_id, pool_actor> pools;
};

/// Where the pools are and what was dropped.
struct service_question {};
struct service_answer {
  standing now;
  bool has_pools = false;        ///< INGRESS has the pools of this epoch.
  std::size_t ingresses = 0;     ///< Of other processes, while we lead.
  std::uint64_t late = 0;        ///< Messages of an earlier epoch.
  std::uint64_t misplaced = 0;   ///< Not from the leader of the epoch, or to somebody who is not.
  std::uint64_t unknown = 0;     ///< Of a pool or an ingress that is not there.
  std::uint64_t conflicting = 0; ///< Hellos that claim the name of another's ingress.
};

using service_links_actor = caf::typed_actor<
  caf::reacts_to<standing>,
  // From the links' thread.
  caf::reacts_to<peer_up>,
  caf::reacts_to<peer_down>,
  caf::reacts_to<peer_said>,
  // From SUPERVISOR.
  caf::reacts_to<local_pools>,
  caf::replies_to<service_question>::with<service_answer>,
  // From MOVER.
  caf::replies_to<routes_question>::with<routes_answer>,
  caf::reacts_to<tick>>;

// -- SERVICE BOOK

/// What our own ingress served, in hours that are over.
struct service_counted {
  std::vector<ledger::serving_summary> hours;
};

/// Nothing is counted any more. Answered once all is on record, or `limits::service_farewell`
/// later.
struct close_book {};
struct book_closed {
  std::size_t untold = 0; ///< Hours that are not known to be on record.
};

using service_book_actor = caf::typed_actor<
  caf::reacts_to<service_counted>,
  caf::reacts_to<standing>,
  // Who the members are.
  caf::reacts_to<tables_changed>,
  // From the links' thread: hours of other ingresses while we lead, and answers to ours.
  caf::reacts_to<peer_said>,
  caf::replies_to<close_book>::with<book_closed>,
  caf::reacts_to<tick>>;

} // namespace assay

#define ASSAY_IN_PROCESS(type) CAF_ALLOW_UNSAFE_MESSAGE_TYPE(assay::type)
ASSAY_IN_PROCESS(peers::pool_state)
ASSAY_IN_PROCESS(peers::lease)
ASSAY_IN_PROCESS(peers::ticket_admit)
ASSAY_IN_PROCESS(peers::ticket_refuse)
ASSAY_IN_PROCESS(peers::ingress_report)
ASSAY_IN_PROCESS(peers::ticket_ask)
ASSAY_IN_PROCESS(peers::ticket_withdraw)
ASSAY_IN_PROCESS(begin_anew)
ASSAY_IN_PROCESS(reached)
ASSAY_IN_PROCESS(standing)
ASSAY_IN_PROCESS(peer_up)
ASSAY_IN_PROCESS(peer_down)
ASSAY_IN_PROCESS(peer_said)
ASSAY_IN_PROCESS(local_pools)
ASSAY_IN_PROCESS(service_question)
ASSAY_IN_PROCESS(service_answer)
ASSAY_IN_PROCESS(service_counted)
ASSAY_IN_PROCESS(close_book)
ASSAY_IN_PROCESS(book_closed)
#undef ASSAY_IN_PROCESS
