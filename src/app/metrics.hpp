#pragma once
// What `/metrics` shows of an assayd: counters fed by batches of outcomes, and gauges read when
// asked.
//
// Labels come from the catalog (model, pool, class), never from what a client wrote, and their
// number is bounded by it.

#include "src/http/ingress_server.hpp"
#include "src/routing/outcome.hpp"
#include "src/store/ledger_engine.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace assay::app {

struct gauges {
  http::ingress_stats ingress;
  store::engine_status ledger;
  std::uint64_t endpoints = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t stale_seconds = 0; ///< Of the lease that ran out first.
  std::uint64_t members_away = 0;
  std::uint64_t blobs_missing = 0;
  bool is_damaged = false; ///< Of the ledger's records on this disk.
  std::uint64_t scrub_rounds = 0;
  std::uint64_t mended = 0;
  std::uint64_t blobs_damaged = 0;
  std::uint64_t blob_scrub_rounds = 0;
  std::uint64_t readers_forgotten = 0; ///< Other processes that read the ledger's files too long.
  std::uint64_t reader_lag = 0;        ///< Transactions since the oldest open read began.
};

class metrics {
public:
  metrics();
  ~metrics();

  /// From any thread.
  void count(const std::vector<routing::outcome>& all);

  /// Prometheus' text format.
  std::string text(const gauges& now);

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace assay::app
