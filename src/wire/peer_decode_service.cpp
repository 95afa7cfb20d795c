#include "src/base/peer_limits.hpp"
#include "src/wire/peer_reader.hpp"

namespace assay::wire {

namespace {

namespace s = schema::peers;
using std::chrono::milliseconds;

/// Lists stay short enough to copy; src/wire/peer_checks_service.cpp names what else is wrong.
template <class Read, class List>
auto read_list(reader& in, const std::string& where, const List& from, Read read) {
  std::vector<decltype(read(from[0]))> out;
  if (!in.fits(where, from.size(), limits::service_items))
    return out;
  out.reserve(from.size());
  for (auto one : from)
    out.push_back(read(one));
  return out;
}

template <class Id>
std::vector<Id>
read_ids(reader& in, const std::string& where, capnp::List<capnp::Text>::Reader from) {
  return read_list(in, where, from, [](capnp::Text::Reader t) { return Id{reader::text(t)}; });
}

digest read_digest(reader& in, const std::string& where, capnp::Data::Reader from) {
  digest out;
  in.copy(where, from, out.bytes);
  return out;
}

pool::endpoint_key read(s::EndpointKey::Reader m) {
  return {reader::text(m.getAddress()), m.getGeneration()};
}

pool::ingress_reported::holding read(s::Holding::Reader m) {
  return {
    .endpoint = read(m.getEndpoint()),
    .credits = m.getCredits(),
    .in_flight = m.getInFlight(),
    .finished = m.getFinished(),
    .grant = m.getGrant(),
  };
}

pool::host_view read(reader& in, s::HostView::Reader m) {
  return {
    .id = {in.text(m.getId())},
    .session = m.getSession(),
    .connected = m.getIsConnected(),
    .draining = m.getIsDraining(),
    .devices = m.getDevices(),
    .devices_free = m.getDevicesFree(),
    .memory_bytes = m.getMemoryBytes(),
    .fingerprint = read_digest(in, "pool_state.hosts.fingerprint", m.getFingerprint()),
    .verified = read_list(
      in,
      "pool_state.hosts.verified",
      m.getVerified(),
      [&](auto one) { return read_digest(in, "pool_state.hosts.verified", one); }
    ),
  };
}

pool::replica_view read(reader& in, s::ReplicaView::Reader m) {
  return {
    .id = {in.text(m.getId())},
    .implementation = {in.text(m.getImplementation())},
    .host = {in.text(m.getHost())},
    .generation = m.getGeneration(),
    .phase = static_cast<pool::phase>(m.getPhase()),
    .takes_traffic = m.getTakesTraffic(),
    .address = in.text(m.getAddress()),
    .secret = in.text(m.getSecret()),
    .fingerprint = read_digest(in, "pool_state.replicas.fingerprint", m.getFingerprint()),
    .slots = m.getSlots(),
    .credits = m.getCredits(),
    .in_flight = m.getInFlight(),
    .devices = read_list(
      in, "pool_state.replicas.devices", m.getDevices(), [](auto one) { return reader::text(one); }
    ),
    .reason = in.text(m.getReason()),
  };
}

pool::implementation_view read(s::ImplementationView::Reader m) {
  return {
    .id = {reader::text(m.getId())},
    .replicas_min = m.getReplicasMin(),
    .replicas_max = m.getReplicasMax(),
    .ready = m.getReady(),
    .live = m.getLive(),
    .failures = m.getFailures(),
    .given_up = m.getHasGivenUp(),
    .artifact_verified = m.getIsArtifactVerified(),
    .waits_for = reader::text(m.getWaitsFor()),
  };
}

pool::queue_view read_queue(reader& in, s::PoolState::Reader m) {
  pool::queue_view out;
  auto waiting = m.getWaiting();
  if (waiting.size() != out.waiting.size())
    in.note(damage(
      "pool_state.waiting",
      "has " + std::to_string(waiting.size()) + " elements",
      "there is one for each class of traffic, 4"
    ));
  for (unsigned i = 0; i < waiting.size() && i < out.waiting.size(); ++i)
    out.waiting[i] = waiting[i];
  out.oldest = milliseconds{m.getOldestMs()};
  if (m.getIsRateKnown())
    out.served_per_second = m.getServedPerSecond();
  return out;
}

peers::ingress_hello read(reader& in, s::IngressHello::Reader m) {
  return {m.getEpoch(), {in.text(m.getIngress())}, m.getBoot()};
}

peers::ingress_report read(reader& in, s::IngressReport::Reader m) {
  return {
    .epoch = m.getEpoch(),
    .pool = {in.text(m.getPool())},
    .at = milliseconds{m.getAtMs()},
    .holdings =
      read_list(in, "ingress_report.holdings", m.getHoldings(), [](auto one) { return read(one); }),
    .settled = read_list(
      in, "ingress_report.settled", m.getSettled(), [](auto one) { return std::uint64_t{one}; }
    ),
    .seq = m.getSeq(),
  };
}

peers::ticket_ask read(reader& in, s::TicketAsk::Reader m) {
  return {
    .epoch = m.getEpoch(),
    .pool = {in.text(m.getPool())},
    .ticket = m.getTicket(),
    .traffic = static_cast<contract::traffic_class>(m.getTraffic()),
    .project = {in.text(m.getProject())},
    .acceptable = read_ids<implementation_id>(in, "ticket_ask.acceptable", m.getAcceptable()),
    .excluded =
      read_list(in, "ticket_ask.excluded", m.getExcluded(), [](auto one) { return read(one); }),
    .left = milliseconds{m.getLeftMs()},
  };
}

peers::ticket_withdraw read(reader& in, s::TicketWithdraw::Reader m) {
  return {m.getEpoch(), {in.text(m.getPool())}, m.getTicket()};
}

peers::pools_now read(reader& in, s::PoolsNow::Reader m) {
  return {m.getEpoch(), read_ids<pool_id>(in, "pools_now.pools", m.getPools())};
}

peers::pool_state read(reader& in, s::PoolState::Reader m) {
  peers::pool_state out{.epoch = m.getEpoch(), .view = {.pool = {in.text(m.getPool())}}};
  out.view.epoch = out.epoch;
  out.view.hosts =
    read_list(in, "pool_state.hosts", m.getHosts(), [&](auto one) { return read(in, one); });
  out.view.replicas =
    read_list(in, "pool_state.replicas", m.getReplicas(), [&](auto one) { return read(in, one); });
  out.view.implementations =
    read_list(in, "pool_state.implementations", m.getImplementations(), [](auto one) {
      return read(one);
    });
  out.view.queue = read_queue(in, m);
  return out;
}

peers::lease read(reader& in, s::Lease::Reader m) {
  return {
    .epoch = m.getEpoch(),
    .pool = {in.text(m.getPool())},
    .endpoint = read(m.getEndpoint()),
    .credits = m.getCredits(),
    .degraded = static_cast<contract::degraded_rule>(m.getDegraded()),
    .waiting = static_cast<pool::contention>(m.getWaiting()),
    .number = m.getNumber(),
    .heard = milliseconds{m.getHeardMs()},
    .left = milliseconds{m.getLeftMs()},
  };
}

peers::ticket_admit read(reader& in, s::TicketAdmit::Reader m) {
  return {
    .epoch = m.getEpoch(),
    .pool = {in.text(m.getPool())},
    .ticket = m.getTicket(),
    .implementation = {in.text(m.getImplementation())},
    .endpoint = read(m.getEndpoint()),
  };
}

peers::ticket_refuse read(reader& in, s::TicketRefuse::Reader m) {
  return {
    .epoch = m.getEpoch(),
    .pool = {in.text(m.getPool())},
    .ticket = m.getTicket(),
    .why = static_cast<pool::ticket_refusal>(m.getWhy()),
    .retry_after = std::chrono::seconds{m.getRetryAfterS()},
    .measured = m.getIsMeasured(),
  };
}

peers::admin_ask read(reader& in, s::AdminAsk::Reader m) {
  return {
    .number = m.getNumber(),
    .method = in.text(m.getMethod()),
    .path = in.text(m.getPath()),
    .query = in.text(m.getQuery()),
    .body = in.bytes(m.getBody()),
    .who = in.text(m.getWho()),
    .how = m.getHow(),
  };
}

peers::admin_answer read(reader& in, s::AdminAnswer::Reader m) {
  return {
    .number = m.getNumber(),
    .status = m.getStatus(),
    .content_type = in.text(m.getContentType()),
    .body = in.bytes(m.getBody()),
  };
}

peers::service_kept read(reader& in, s::ServiceKept::Reader m) {
  peers::service_kept out{.record = {}, .why = in.text(m.getWhy())};
  in.copy("service_kept.record", m.getRecord(), out.record.bytes);
  return out;
}

} // namespace

peers::message read_service(reader& in, s::PeerMessage::Reader m) {
  switch (m.which()) {
  case s::PeerMessage::INGRESS_HELLO:
    return read(in, m.getIngressHello());
  case s::PeerMessage::INGRESS_REPORT:
    return read(in, m.getIngressReport());
  case s::PeerMessage::TICKET_ASK:
    return read(in, m.getTicketAsk());
  case s::PeerMessage::TICKET_WITHDRAW:
    return read(in, m.getTicketWithdraw());
  case s::PeerMessage::POOLS_NOW:
    return read(in, m.getPoolsNow());
  case s::PeerMessage::POOL_STATE:
    return read(in, m.getPoolState());
  case s::PeerMessage::LEASE:
    return read(in, m.getLease());
  case s::PeerMessage::TICKET_ADMIT:
    return read(in, m.getTicketAdmit());
  case s::PeerMessage::TICKET_REFUSE:
    return read(in, m.getTicketRefuse());
  case s::PeerMessage::ADMIN_ASK:
    return read(in, m.getAdminAsk());
  case s::PeerMessage::ADMIN_ANSWER:
    return read(in, m.getAdminAnswer());
  case s::PeerMessage::CLOCK:
    return peers::clock_told{{m.getClock()}};
  case s::PeerMessage::SERVICE_TOLD:
    return peers::service_told{in.bytes(m.getServiceTold())};
  case s::PeerMessage::SERVICE_KEPT:
    return read(in, m.getServiceKept());
  case s::PeerMessage::SYNC_MS:
    return peers::sync_told{milliseconds{m.getSyncMs()}};
  case s::PeerMessage::DISK_TOLD:
    return peers::disk_told{m.getDiskTold().getFull(), m.getDiskTold().getDamaged()};
  default:
    in.note(newer("peer message"));
    return peers::beat{};
  }
}

} // namespace assay::wire
