#pragma once
// The connections of one thread to replicas, kept for the next request.
//
// Last in, first out, so that few stay warm and the rest grow old and are closed: engines close an
// idle connection at five seconds, and we do before. The loop tells what happens to a kept
// connection: its end, or a byte that nobody asked for, closes it at once, and it never serves
// another request. Kept per endpoint counters, that is per (address, generation): a connection to a
// dead replica never serves its successor on the same port.

#include "src/base/clock.hpp"
#include "src/http/sockets.hpp"
#include "src/pool/counters.hpp"

#include <chrono>
#include <memory>
#include <unordered_map>
#include <vector>

namespace assay::http {

class upstream_pool;

/// One connection to a replica.
class upstream_link final : public tcp_socket {
public:
  using tcp_socket::tcp_socket;

  bool reused = false;

private:
  friend class upstream_pool;
  void on_news() override;

  upstream_pool* kept_by_ = nullptr; ///< Null while a request has it.
  const pool::endpoint_counters* endpoint_ = nullptr;
  steady_time idle_since_{};
};

class upstream_pool {
public:
  upstream_pool(event_loop& loop, std::chrono::milliseconds idle) : loop_{loop}, idle_{idle} {}

  /// A kept connection that still lives, or null.
  std::unique_ptr<upstream_link> take(const pool::endpoint_counters& endpoint, steady_time now);

  /// A new one, not connected yet.
  std::unique_ptr<upstream_link> make() { return std::make_unique<upstream_link>(loop_); }

  /// Keeps it for later, unless there are enough or more lies in it than the answer.
  void keep(
    const std::shared_ptr<pool::endpoint_counters>& endpoint,
    std::unique_ptr<upstream_link> link,
    steady_time now
  );

  /// Closes what has been idle too long. Returns how many are kept.
  std::size_t sweep(steady_time now);

  void clear() { kept_.clear(); }

private:
  friend class upstream_link;
  void drop(const upstream_link& link);

  struct shelf {
    std::shared_ptr<pool::endpoint_counters>
      endpoint; ///< Keeps the key's address from being reused.
    std::vector<std::unique_ptr<upstream_link>> links; ///< Oldest first.
  };

  event_loop& loop_;
  std::chrono::milliseconds idle_;
  std::unordered_map<const pool::endpoint_counters*, shelf> kept_;
};

} // namespace assay::http
