#pragma once
// The connections of one thread to replicas, kept for the next request.
//
// Last in, first out, so that few stay warm and the rest grow old and are closed: engines close an
// idle connection at five seconds, and we do before. A kept connection is looked at before it is
// used again. Kept per endpoint counters, that is per (address, generation): a connection to a dead
// replica never serves its successor on the same port.

#include "src/base/clock.hpp"
#include "src/http/sockets.hpp"
#include "src/pool/counters.hpp"

#include <chrono>
#include <memory>
#include <unordered_map>
#include <vector>

namespace assay::http {

/// One connection to a replica with its read buffer.
struct upstream_link {
  explicit upstream_link(asio::io_context& io) : socket{io.get_executor()} {}

  tcp_socket socket;
  bool reused = false;
  steady_time idle_since{};
};

class upstream_pool {
public:
  upstream_pool(asio::io_context& io, std::chrono::milliseconds idle) : io_{io}, idle_{idle} {}

  /// A kept connection that still lives, or null.
  std::unique_ptr<upstream_link> take(const pool::endpoint_counters& endpoint, steady_time now);

  /// A new one, not connected yet.
  std::unique_ptr<upstream_link> make() { return std::make_unique<upstream_link>(io_); }

  /// Keeps it for later, unless there are enough.
  void keep(
    const std::shared_ptr<pool::endpoint_counters>& endpoint,
    std::unique_ptr<upstream_link> link,
    steady_time now
  );

  /// Closes what has been idle too long. Returns how many are kept.
  std::size_t sweep(steady_time now);

  void clear() { kept_.clear(); }

private:
  struct shelf {
    std::shared_ptr<pool::endpoint_counters>
      endpoint; ///< Keeps the key's address from being reused.
    std::vector<std::unique_ptr<upstream_link>> links; ///< Oldest first.
  };

  asio::io_context& io_;
  std::chrono::milliseconds idle_;
  std::unordered_map<const pool::endpoint_counters*, shelf> kept_;
};

} // namespace assay::http
