#include "src/app/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>

namespace assay::app {

namespace {

const prometheus::Histogram::BucketBoundaries seconds_buckets{
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120};

double seconds(std::chrono::microseconds time) {
  return std::chrono::duration<double>{time}.count();
}

prometheus::Labels labels_of(const routing::outcome& o) {
  return {
    {"model", o.model.value},
    {"pool", o.pool.value},
    {"class", std::string{contract::name(o.traffic)}},
  };
}

} // namespace

struct metrics::parts {
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& requests =
    prometheus::BuildCounter()
      .Name("assay_requests_total")
      .Help("Requests that are over, by how they ended")
      .Register(registry);
  prometheus::Family<prometheus::Counter>& tokens = prometheus::BuildCounter()
                                                      .Name("assay_tokens_total")
                                                      .Help("Tokens, as engines' usage states them")
                                                      .Register(registry);
  prometheus::Family<prometheus::Histogram>& ttft =
    prometheus::BuildHistogram()
      .Name("assay_ttft_seconds")
      .Help("Request to first content of the answer")
      .Register(registry);
  prometheus::Family<prometheus::Histogram>& total = prometheus::BuildHistogram()
                                                       .Name("assay_request_seconds")
                                                       .Help("Request to end of the answer")
                                                       .Register(registry);
  prometheus::Family<prometheus::Gauge>& gauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  }
  void set(const char* name, const char* help, double value) {
    gauge(name, help).Add({}).Set(value);
  }
};

metrics::metrics() : parts_{std::make_unique<parts>()} {}
metrics::~metrics() = default;

void metrics::count(const std::vector<routing::outcome>& all) {
  for (const auto& one : all) {
    auto labels = labels_of(one);
    auto ended = labels;
    ended["ending"] = std::string{routing::name(one.how)};
    ended["code"] = one.failure ? std::string{contract::describe(*one.failure).code} : "";
    parts_->requests.Add(ended).Increment();
    if (one.how != routing::ending::served)
      continue;
    parts_->total.Add(labels, seconds_buckets).Observe(seconds(one.total));
    if (one.ttft)
      parts_->ttft.Add(labels, seconds_buckets).Observe(seconds(*one.ttft));
    for (const auto& [kind, tokens] :
         {std::pair{"input", one.usage.input_tokens},
          std::pair{"output", one.usage.output_tokens}}) {
      auto with_kind = labels;
      with_kind["kind"] = kind;
      parts_->tokens.Add(with_kind).Increment(tokens);
    }
  }
}

std::string metrics::text(const gauges& now) {
  auto set = [&](const char* name, const char* help, auto value) {
    parts_->set(name, help, static_cast<double>(value));
  };
  set("assay_connections_open", "Client connections now", now.ingress.open);
  set("assay_body_bytes_buffered", "Request bodies in memory now", now.ingress.buffered_bytes);
  set("assay_upstream_connects", "Connections made to replicas", now.ingress.upstream_connects);
  set("assay_upstream_reuses", "Requests sent on a kept connection", now.ingress.upstream_reuses);
  set("assay_retries", "Requests tried again on another endpoint", now.ingress.retries);
  set("assay_streams_cut", "Streams that ended by an error event", now.ingress.streams_cut);
  set("assay_ledger_seq", "Last record", now.ledger.seq);
  set("assay_ledger_applied_index", "Last applied log entry", now.ledger.applied_index);
  set("assay_ledger_waiting", "Proposals not answered yet", now.ledger.waiting);
  set(
    "assay_ledger_disk_full",
    "1: here, or at too many voters, there is room for nothing but what undoes",
    now.ledger.is_disk_full || !now.ledger.room_fault.empty()
  );
  set("assay_ledger_clock_trusted", "0: the clock jumped", now.ledger.is_clock_trusted);
  set("assay_ledger_sync_ms", "One synced write, of late; 0: few", now.ledger.sync.count());
  set("assay_ledger_damaged", "1: a record on this disk is not what was written", now.is_damaged);
  set("assay_ledger_scrub_rounds", "How often all records here were read again", now.scrub_rounds);
  set("assay_ledger_mended", "Damaged states that the leader's took the place of", now.mended);
  set("assay_blobs_damaged", "Blobs here that are not what was written", now.blobs_damaged);
  set(
    "assay_blobs_scrub_rounds", "How often all blobs here were read again", now.blob_scrub_rounds
  );
  set(
    "assay_ledger_map_percent",
    "Address space in use; above 70 nothing is taken",
    std::max(now.ledger.log_map_percent, now.ledger.state_map_percent)
  );
  set("assay_ledger_reader_lag", "Commits since the oldest open read", now.reader_lag);
  set("assay_ledger_readers_forgotten", "Processes that hold a read open", now.readers_forgotten);
  set("assay_ledger_term", "Raft's", now.ledger.term);
  set("assay_ledger_leads", "1: this coordinator leads", now.ledger.is_leader);
  set("assay_ledger_has_leader", "0: nobody is known to lead", now.ledger.leader_id != 0);
  set("assay_members_away", "Members that cannot be reached from here", now.members_away);
  set(
    "assay_blobs_missing", "Blobs that the ledger names and that are not here", now.blobs_missing
  );
  set("assay_stale_seconds", "Since the first lease ran out; 0: all hold", now.stale_seconds);
  set("assay_endpoints", "Endpoints of replicas known here", now.endpoints);
  set("assay_in_flight", "Requests at replicas now", now.in_flight);
  return prometheus::TextSerializer{}.Serialize(parts_->registry.Collect());
}

} // namespace assay::app
