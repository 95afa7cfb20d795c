#include "src/wire/peer_writer.hpp"

namespace assay::wire {

namespace {

namespace s = schema::peers;

capnp::Data::Reader as_data(const digest& d) {
  return {d.bytes.data(), d.bytes.size()};
}

void put(s::EndpointKey::Builder to, const pool::endpoint_key& key) {
  to.setAddress(text(key.address));
  to.setGeneration(key.generation);
}

template <class Values>
void put_texts(capnp::List<capnp::Text>::Builder to, const Values& values) {
  for (unsigned i = 0; i < to.size(); ++i) {
    if constexpr (requires { values[i].value; })
      to.set(i, text(values[i].value));
    else
      to.set(i, text(values[i]));
  }
}

void put(s::HostView::Builder to, const pool::host_view& h) {
  to.setId(text(h.id.value));
  to.setSession(h.session);
  to.setIsConnected(h.connected);
  to.setIsDraining(h.draining);
  to.setDevices(h.devices);
  to.setDevicesFree(h.devices_free);
  to.setMemoryBytes(h.memory_bytes);
  to.setFingerprint(as_data(h.fingerprint));
  auto verified = to.initVerified(count(h.verified.size()));
  for (unsigned i = 0; i < verified.size(); ++i)
    verified.set(i, as_data(h.verified[i]));
}

void put(s::ReplicaView::Builder to, const pool::replica_view& r) {
  to.setId(text(r.id.value));
  to.setImplementation(text(r.implementation.value));
  to.setHost(text(r.host.value));
  to.setGeneration(r.generation);
  to.setPhase(static_cast<std::uint8_t>(r.phase));
  to.setTakesTraffic(r.takes_traffic);
  to.setAddress(text(r.address));
  to.setSecret(text(r.secret));
  to.setFingerprint(as_data(r.fingerprint));
  to.setSlots(r.slots);
  to.setCredits(r.credits);
  to.setInFlight(r.in_flight);
  put_texts(to.initDevices(count(r.devices.size())), r.devices);
  to.setReason(text(r.reason));
}

void put(s::ImplementationView::Builder to, const pool::implementation_view& i) {
  to.setId(text(i.id.value));
  to.setReplicasMin(i.replicas_min);
  to.setReplicasMax(i.replicas_max);
  to.setReady(i.ready);
  to.setLive(i.live);
  to.setFailures(i.failures);
  to.setHasGivenUp(i.given_up);
  to.setIsArtifactVerified(i.artifact_verified);
  to.setWaitsFor(text(i.waits_for));
}

template <class List, class Values>
void put_all(List to, const Values& values) {
  for (unsigned i = 0; i < to.size(); ++i)
    put(to[i], values[i]);
}

} // namespace

void put(message_builder to, const peers::ingress_hello& m) {
  auto b = to.initIngressHello();
  b.setEpoch(m.epoch);
  b.setIngress(text(m.ingress.value));
  b.setBoot(m.boot);
}

void put(message_builder to, const peers::ingress_report& m) {
  auto b = to.initIngressReport();
  b.setEpoch(m.epoch);
  b.setPool(text(m.pool.value));
  b.setAtMs(m.at.count());
  auto holdings = b.initHoldings(count(m.holdings.size()));
  for (unsigned i = 0; i < holdings.size(); ++i) {
    const auto& one = m.holdings[i];
    put(holdings[i].initEndpoint(), one.endpoint);
    holdings[i].setCredits(one.credits);
    holdings[i].setInFlight(one.in_flight);
    holdings[i].setFinished(one.finished);
    holdings[i].setGrant(one.grant);
  }
  auto settled = b.initSettled(count(m.settled.size()));
  for (unsigned i = 0; i < settled.size(); ++i)
    settled.set(i, m.settled[i]);
  b.setSeq(m.seq);
}

void put(message_builder to, const peers::ticket_ask& m) {
  auto b = to.initTicketAsk();
  b.setEpoch(m.epoch);
  b.setPool(text(m.pool.value));
  b.setTicket(m.ticket);
  b.setTraffic(static_cast<std::uint8_t>(m.traffic));
  b.setProject(text(m.project.value));
  put_texts(b.initAcceptable(count(m.acceptable.size())), m.acceptable);
  put_all(b.initExcluded(count(m.excluded.size())), m.excluded);
  b.setLeftMs(m.left.count());
}

void put(message_builder to, const peers::ticket_withdraw& m) {
  auto b = to.initTicketWithdraw();
  b.setEpoch(m.epoch);
  b.setPool(text(m.pool.value));
  b.setTicket(m.ticket);
}

void put(message_builder to, const peers::pools_now& m) {
  auto b = to.initPoolsNow();
  b.setEpoch(m.epoch);
  put_texts(b.initPools(count(m.pools.size())), m.pools);
}

void put(message_builder to, const peers::pool_state& m) {
  auto b = to.initPoolState();
  const auto& view = m.view;
  b.setEpoch(m.epoch);
  b.setPool(text(view.pool.value));
  put_all(b.initHosts(count(view.hosts.size())), view.hosts);
  put_all(b.initReplicas(count(view.replicas.size())), view.replicas);
  put_all(b.initImplementations(count(view.implementations.size())), view.implementations);
  auto waiting = b.initWaiting(count(view.queue.waiting.size()));
  for (unsigned i = 0; i < waiting.size(); ++i)
    waiting.set(i, view.queue.waiting[i]);
  b.setOldestMs(view.queue.oldest.count());
  b.setIsRateKnown(view.queue.served_per_second.has_value());
  b.setServedPerSecond(view.queue.served_per_second.value_or(0));
}

void put(message_builder to, const peers::lease& m) {
  auto b = to.initLease();
  b.setEpoch(m.epoch);
  b.setPool(text(m.pool.value));
  put(b.initEndpoint(), m.endpoint);
  b.setCredits(m.credits);
  b.setDegraded(static_cast<std::uint8_t>(m.degraded));
  b.setWaiting(static_cast<std::uint8_t>(m.waiting));
  b.setNumber(m.number);
  b.setHeardMs(m.heard.count());
  b.setLeftMs(m.left.count());
}

void put(message_builder to, const peers::ticket_admit& m) {
  auto b = to.initTicketAdmit();
  b.setEpoch(m.epoch);
  b.setPool(text(m.pool.value));
  b.setTicket(m.ticket);
  b.setImplementation(text(m.implementation.value));
  put(b.initEndpoint(), m.endpoint);
}

void put(message_builder to, const peers::ticket_refuse& m) {
  auto b = to.initTicketRefuse();
  b.setEpoch(m.epoch);
  b.setPool(text(m.pool.value));
  b.setTicket(m.ticket);
  b.setWhy(static_cast<std::uint8_t>(m.why));
  b.setRetryAfterS(static_cast<std::uint32_t>(m.retry_after.count()));
  b.setIsMeasured(m.measured);
}

void put(message_builder to, const peers::admin_ask& m) {
  auto b = to.initAdminAsk();
  b.setNumber(m.number);
  b.setMethod(text(m.method));
  b.setPath(text(m.path));
  b.setQuery(text(m.query));
  b.setBody(as_data(std::string_view{m.body}));
  b.setWho(text(m.who));
  b.setHow(m.how);
}

void put(message_builder to, const peers::admin_answer& m) {
  auto b = to.initAdminAnswer();
  b.setNumber(m.number);
  b.setStatus(m.status);
  b.setContentType(text(m.content_type));
  b.setBody(as_data(std::string_view{m.body}));
}

void put(message_builder to, const peers::clock_told& m) {
  to.setClock(m.at.value);
}

void put(message_builder to, const peers::service_told& m) {
  to.setServiceTold(as_data(std::string_view{m.proposal}));
}

void put(message_builder to, const peers::sync_told& m) {
  to.setSyncMs(static_cast<std::uint32_t>(m.sync.count()));
}

void put(message_builder to, const peers::disk_told& m) {
  auto b = to.initDiskTold();
  b.setFull(m.is_full);
  b.setDamaged(m.is_damaged);
}

void put(message_builder to, const peers::service_kept& m) {
  auto b = to.initServiceKept();
  b.setRecord({m.record.bytes.data(), m.record.bytes.size()});
  b.setWhy(text(m.why));
}

} // namespace assay::wire
