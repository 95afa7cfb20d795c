#include "src/app/monitor.hpp"

#include "src/app/group_health.hpp"
#include "src/app/proposing.hpp"

#include <algorithm>

namespace assay::app {

namespace {

using namespace std::chrono_literals;

constexpr auto plain = "text/plain; charset=utf-8";
constexpr auto exposition = "text/plain; version=0.0.4; charset=utf-8";

struct readiness {
  bool is_ready = false;
  std::string text; ///< Why it is not, or what does not keep it from serving.
};

/// An ingress goes on with what it knows when the leader or the disk's room is gone, so a balancer
/// has to leave it in. But what one knows that has heard of no leader since it began may be old.
readiness readiness_of(const parts& p, const monitor_view& now) {
  if (now.stage != stage::serving)
    return {false, now.stage == stage::starting ? "starting" : "stopping"};
  auto tables = tables_of(*p.engine->current());
  if (!tables->head.cluster)
    return {false, "it has taken nothing over from the others yet; assay cluster status says why"};
  auto ledger = p.engine->status();
  if (is_removed(tables->head, ledger.server_id))
    return {false, "it was removed from the cluster; assay cluster status says what to do"};
  auto is_led = ledger.leader_id != 0;
  auto serves = p.settings.has_ingress && (is_led || now.had_leader);
  if (!is_led)
    return {serves, "the ledger has no leader; assay cluster status says why"};
  if (ledger.is_disk_full)
    return {serves, "the ledger's disk is full; free some, no restart is needed"};
  if (!ledger.room_fault.empty())
    return {true, "the ledger takes only what undoes: " + ledger.room_fault};
  return {true, {}};
}

http::service_response answer(const readiness& r) {
  auto text = r.is_ready ? "ready" + (r.text.empty() ? "" : ", though " + r.text) : r.text;
  return {r.is_ready ? 200 : 503, plain, text + "\n"};
}

std::uint64_t stale_seconds(const parts& p, const pool::endpoint_key& key) {
  auto counters = p.counters->find(key);
  auto stale = counters ? counters->stale_for(std::chrono::steady_clock::now()) : 0ns;
  return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(stale).count());
}

template <class Ready, class Metrics>
http::service_response
route(const http::service_request& request, const Ready& ready, const Metrics& metrics) {
  if (request.method != "GET" && request.method != "HEAD")
    return {405, plain, "GET only\n"};
  if (request.path == "/healthz")
    return {200, plain, "ok\n"};
  if (request.path == "/readyz")
    return answer(ready());
  if (request.path == "/metrics")
    return metrics();
  return {404, plain, "known here: /healthz /readyz /metrics\n"};
}

std::string metrics_of(const parts& p) {
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
      now.members_away += !is_of_use(one);
  now.blobs_missing = p.blob_keeper->missing();
  now.is_damaged = !p.scrub->damage().empty();
  now.scrub_rounds = p.scrub->rounds();
  now.mended = p.scrub->mended();
  now.blobs_damaged = p.blob_keeper->damaged().size();
  now.blob_scrub_rounds = p.blob_keeper->scrub_rounds();
  now.readers_forgotten = p.space->forgotten().size();
  now.reader_lag = p.space->oldest_lag();
  return p.metrics->text(now);
}

} // namespace

http::service_response
serve_monitor(const parts& p, const monitor_view& now, const http::service_request& request) {
  return route(
    request,
    [&] { return readiness_of(p, now); },
    [&] {
      return now.stage == stage::starting ? http::service_response{503, plain, "starting\n"}
                                          : http::service_response{200, exposition, metrics_of(p)};
    }
  );
}

http::service_response serve_waiting_monitor(const http::service_request& request) {
  return route(
    request,
    [] {
      return readiness{
        false, "this assayd belongs to no cluster yet: assay cluster init, or assay cluster join"};
    },
    [] {
      return http::service_response{
        200,
        exposition,
        "# HELP assay_waits_for_a_cluster This assayd belongs to no cluster yet.\n"
        "# TYPE assay_waits_for_a_cluster gauge\n"
        "assay_waits_for_a_cluster 1\n"};
    }
  );
}

} // namespace assay::app
