#include "src/app/monitor.hpp"

#include <algorithm>

namespace assay::app {

namespace {

using namespace std::chrono_literals;

constexpr auto plain = "text/plain; charset=utf-8";

std::string why_not_ready(const parts& p, bool is_ready) {
  if (!is_ready)
    return "starting or stopping";
  auto ledger = p.engine->status();
  if (ledger.leader_id == 0 && p.settings.is_coordinator)
    return "the ledger has no leader";
  if (ledger.is_disk_full)
    return "the ledger's disk is full";
  return {};
}

std::uint64_t stale_seconds(const parts& p, const pool::endpoint_key& key) {
  auto counters = p.counters->find(key);
  auto stale = counters ? counters->stale_for(std::chrono::steady_clock::now()) : 0ns;
  return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(stale).count());
}

} // namespace

http::service_response
serve_monitor(const parts& p, bool is_ready, const http::service_request& request) {
  if (request.method != "GET" && request.method != "HEAD")
    return {405, plain, "GET only\n"};
  if (request.path == "/healthz")
    return {200, plain, "ok\n"};
  if (request.path == "/readyz") {
    auto why = why_not_ready(p, is_ready);
    return why.empty() ? http::service_response{200, plain, "ready\n"}
                       : http::service_response{503, plain, why + "\n"};
  }
  if (request.path == "/metrics") {
    gauges now{
      .ingress = p.ingress ? p.ingress->stats() : http::ingress_stats{},
      .ledger = p.engine->status()};
    for (const auto& endpoint : p.counters->usages()) {
      now.endpoints += 1;
      now.in_flight += endpoint.in_flight;
      now.stale_seconds = std::max(now.stale_seconds, stale_seconds(p, endpoint.key));
    }
    if (p.group)
      for (const auto& [node, one] : p.group->seen())
        now.members_away += !one.is_up;
    now.blobs_missing = p.blob_keeper->missing();
    now.is_damaged = !p.scrub->damage().empty();
    now.scrub_rounds = p.scrub->rounds();
    now.readers_forgotten = p.space->forgotten().size();
    now.reader_lag = p.space->oldest_lag();
    return {200, "text/plain; version=0.0.4; charset=utf-8", p.metrics->text(now)};
  }
  return {404, plain, "known here: /healthz /readyz /metrics\n"};
}

} // namespace assay::app
