// Checks of what ingresses and pools say to each other. Bounds and enumerations are shown here;
// whether an epoch is current and a pool is there, the receiver decides.

#include "src/base/peer_limits.hpp"
#include "src/wire/peer_check_words.hpp"

#include <cmath>

namespace assay::peers {

namespace {

using std::chrono::milliseconds;

/// A day: no lease or ticket lasts as long, and no sum with a clock overflows.
constexpr milliseconds left_max = std::chrono::hours{24};
constexpr milliseconds clock_max{1LL << 52};

verdict refuse_name(std::string where, const std::string& value) {
  if (!value.empty() && value.size() <= limits::key_bytes)
    return {};
  return wrong(
    std::move(where),
    "has " + text(value.size()) + " bytes",
    "allowed are 1 to " + text(limits::key_bytes)
  );
}

verdict refuse_span(std::string where, milliseconds value, milliseconds most) {
  if (value >= milliseconds{0} && value <= most)
    return {};
  return wrong(
    std::move(where),
    "is " + std::to_string(value.count()) + " ms",
    "allowed is 0 to " + std::to_string(most.count())
  );
}

template <class Enum>
verdict refuse_kind(std::string where, Enum value, Enum last) {
  return refuse_more(
    std::move(where), static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(last)
  );
}

verdict refuse_list(std::string where, std::size_t size) {
  return refuse_more(std::move(where), size, limits::service_items);
}

/// What every word about a pool has.
verdict refuse_head(const std::string& where, std::uint64_t epoch, const pool_id& pool) {
  if (auto bad = refuse_number(where + ".epoch", epoch))
    return bad;
  return refuse_name(where + ".pool", pool.value);
}

} // namespace

verdict refuse_one(const ingress_hello& m) {
  if (auto bad = refuse_number("ingress_hello.epoch", m.epoch))
    return bad;
  return refuse_name("ingress_hello.ingress", m.ingress.value);
}

verdict refuse_one(const ingress_report& m) {
  if (auto bad = refuse_head("ingress_report", m.epoch, m.pool))
    return bad;
  if (auto bad = refuse_span("ingress_report.at", m.at, clock_max))
    return bad;
  if (auto bad = refuse_list("ingress_report.holdings", m.holdings.size()))
    return bad;
  return refuse_list("ingress_report.settled", m.settled.size());
}

verdict refuse_one(const ticket_ask& m) {
  if (auto bad = refuse_head("ticket_ask", m.epoch, m.pool))
    return bad;
  if (auto bad = refuse_kind("ticket_ask.traffic", m.traffic, contract::traffic_class::shadow))
    return bad;
  if (auto bad = refuse_list("ticket_ask.acceptable", m.acceptable.size()))
    return bad;
  if (auto bad = refuse_list("ticket_ask.excluded", m.excluded.size()))
    return bad;
  return refuse_span("ticket_ask.left", m.left, left_max);
}

verdict refuse_one(const ticket_withdraw& m) {
  return refuse_head("ticket_withdraw", m.epoch, m.pool);
}

verdict refuse_one(const pools_now& m) {
  if (auto bad = refuse_number("pools_now.epoch", m.epoch))
    return bad;
  if (auto bad = refuse_list("pools_now.pools", m.pools.size()))
    return bad;
  for (std::size_t i = 0; i < m.pools.size(); ++i)
    if (auto bad = refuse_name("pools_now.pools[" + text(i) + "]", m.pools[i].value))
      return bad;
  return {};
}

verdict refuse_one(const pool_state& m) {
  if (auto bad = refuse_head("pool_state", m.epoch, m.view.pool))
    return bad;
  if (auto bad = refuse_list("pool_state.hosts", m.view.hosts.size()))
    return bad;
  if (auto bad = refuse_list("pool_state.replicas", m.view.replicas.size()))
    return bad;
  if (auto bad = refuse_list("pool_state.implementations", m.view.implementations.size()))
    return bad;
  for (std::size_t i = 0; i < m.view.replicas.size(); ++i) {
    auto where = "pool_state.replicas[" + text(i) + "].phase";
    if (auto bad = refuse_kind(where, m.view.replicas[i].phase, pool::phase::gone))
      return bad;
  }
  if (auto rate = m.view.queue.served_per_second; rate && (!std::isfinite(*rate) || *rate < 0))
    return wrong("pool_state.served_per_second", "is no rate", "allowed is 0 and more");
  return refuse_span("pool_state.oldest", m.view.queue.oldest, clock_max);
}

verdict refuse_one(const lease& m) {
  if (auto bad = refuse_head("lease", m.epoch, m.pool))
    return bad;
  if (auto bad = refuse_name("lease.endpoint", m.endpoint.address))
    return bad;
  if (auto bad = refuse_kind("lease.degraded", m.degraded, contract::degraded_rule::stop))
    return bad;
  if (auto bad = refuse_kind("lease.waiting", m.waiting, pool::contention::interactive_waits))
    return bad;
  if (auto bad = refuse_span("lease.heard", m.heard, clock_max))
    return bad;
  return refuse_span("lease.left", m.left, left_max);
}

verdict refuse_one(const ticket_admit& m) {
  if (auto bad = refuse_head("ticket_admit", m.epoch, m.pool))
    return bad;
  return refuse_name("ticket_admit.endpoint", m.endpoint.address);
}

verdict refuse_one(const ticket_refuse& m) {
  if (auto bad = refuse_head("ticket_refuse", m.epoch, m.pool))
    return bad;
  if (auto bad = refuse_kind("ticket_refuse.why", m.why, pool::ticket_refusal::no_replica))
    return bad;
  return refuse_span("ticket_refuse.retry_after", m.retry_after, left_max);
}

verdict refuse_one(const admin_ask& m) {
  if (auto bad = refuse_number("admin_ask.number", m.number))
    return bad;
  if (auto bad = refuse_name("admin_ask.method", m.method))
    return bad;
  if (auto bad = refuse_more("admin_ask.path", m.path.size(), limits::uri_bytes))
    return bad;
  if (auto bad = refuse_more("admin_ask.query", m.query.size(), limits::uri_bytes))
    return bad;
  if (auto bad = refuse_more("admin_ask.who", m.who.size(), limits::text_bytes))
    return bad;
  return refuse_more("admin_ask.body", m.body.size(), limits::admin_body_bytes);
}

verdict refuse_one(const admin_answer& m) {
  if (auto bad = refuse_number("admin_answer.number", m.number))
    return bad;
  if (m.status < 100 || m.status > 599)
    return wrong("admin_answer.status", "is " + text(m.status), "allowed is 100 to 599");
  if (auto bad = refuse_more("admin_answer.content_type", m.content_type.size(), limits::text_bytes))
    return bad;
  return refuse_more("admin_answer.body", m.body.size(), limits::admin_body_bytes);
}

/// Any clock may be told, for a wrong one is what this is for; but none that overflows a
/// difference.
verdict refuse_one(const clock_told& m) {
  constexpr std::int64_t far = std::int64_t{1} << 61;
  if (m.at.value >= 0 && m.at.value < far)
    return {};
  return wrong(
    "clock", "is " + std::to_string(m.at.value), "allowed are ms since 1970, below 2^61"
  );
}

verdict refuse_one(const service_told& m) {
  if (m.proposal.empty())
    return wrong("service_told", "is empty", "it holds a record");
  return refuse_more("service_told", m.proposal.size(), limits::proposal_bytes);
}

verdict refuse_one(const service_kept& m) {
  return refuse_more("service_kept.why", m.why.size(), limits::text_bytes);
}

verdict refuse_one(const sync_told& m) {
  return refuse_span("sync", m.sync, left_max);
}

verdict refuse_one(const disk_told&) {
  return {};
}

} // namespace assay::peers
