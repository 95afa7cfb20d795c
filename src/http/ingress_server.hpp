#pragma once
// The ingress: applications connect here, their requests are routed and relayed to replicas.
//
// Each HTTP thread owns its event loop, its listening socket (SO_REUSEPORT), its client and
// upstream connections, its snapshot pointer and its decision ring, so that a request meets no lock
// and no other thread. Knows no actors: what it needs from the rest of assayd are the hooks, which
// are called on HTTP threads and must return at once.

#include "src/base/group_clock.hpp"
#include "src/base/ids.hpp"
#include "src/base/limits.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/contract/contract.hpp"
#include "src/http/relay_limits.hpp"
#include "src/pool/events.hpp"
#include "src/routing/outcome.hpp"
#include "src/routing/snapshot.hpp"
#include "src/routing/trace.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace assay::http {

/// Defaults come from src/base/limits.hpp; tests shorten them.
struct ingress_limits : relay_limits {
  std::chrono::milliseconds head = limits::head_timeout;
  std::chrono::milliseconds idle = limits::idle_timeout;
  std::chrono::milliseconds write_stall = limits::write_stall_timeout;
  std::chrono::milliseconds queue_wait = limits::queue_wait;
  std::chrono::milliseconds upstream_idle = limits::upstream_idle;
  std::chrono::milliseconds keepalive = limits::keepalive_comment;
  std::size_t body_bytes = limits::body_bytes;
  std::size_t bodies_bytes = limits::bodies_bytes; ///< All threads together.
  std::size_t connections = limits::connections;   ///< All threads together.
};

struct ingress_options {
  ingress_id id{"ingress"};
  std::uint64_t boot = 0; ///< Different at each start; part of decision ids.
  std::string address = "127.0.0.1";
  std::uint16_t port = 0; ///< 0: any free one, see `port()`.
  unsigned threads = 1;
  bool plaintext_accepted = false; ///< Without it only loopback addresses are bound.
  ingress_limits limits;
  std::shared_ptr<const group_clock> clock = std::make_shared<group_clock>();
};

/// A request that found no free credit asks for its turn. Asked again with the same number after an
/// admission that came to nothing, it keeps its place.
struct ticket_request {
  std::uint64_t number = 0; ///< Unique in this ingress.
  contract::traffic_class traffic = contract::traffic_class::interactive;
  project_id project;
  std::vector<implementation_id> acceptable;
  std::vector<pool::endpoint_key>
    excluded; ///< Of those: tried already, or not on a qualified stack.
  steady_time deadline{};
};

struct ticket_admitted {
  pool::endpoint_key endpoint;
};

struct ticket_refused {
  pool::ticket_refusal why = pool::ticket_refusal::queue_full;
  std::chrono::seconds retry_after{1};
};

using ticket_answer = std::variant<ticket_admitted, ticket_refused>;

/// May be called from any thread, once; later calls, and calls after `stop`, do nothing.
using ticket_completion = std::function<void(ticket_answer)>;

struct ingress_hooks {
  /// Every `limits::outcome_every`, or when `limits::outcome_batch` have gathered.
  std::function<void(std::vector<routing::outcome>)> on_outcomes;
  /// Unset: out of credit is refused at once.
  std::function<void(ticket_request, ticket_completion)> ask_ticket;
  /// The request does not wait any more and took no credit (client gone, deadline).
  std::function<void(std::uint64_t number)> withdraw_ticket;
  /// The credit that an admission promised was taken.
  std::function<void(std::uint64_t number)> settle_ticket;
};

/// Sums over all threads since the start.
struct ingress_stats {
  std::uint64_t connections = 0; ///< Accepted.
  std::uint64_t open = 0;        ///< Client connections now.
  std::uint64_t requests = 0;
  std::uint64_t refused = 0; ///< Answered by us with an error.
  std::uint64_t client_gone = 0;
  std::uint64_t upstream_connects = 0;
  std::uint64_t upstream_reuses = 0;
  std::uint64_t replays = 0; ///< A kept connection turned out dead; sent again on a fresh one.
  std::uint64_t retries = 0; ///< On another endpoint.
  std::uint64_t streams_cut = 0;
  std::uint64_t buffered_bytes = 0; ///< Request bodies in memory now.
};

class ingress_server {
public:
  ingress_server(ingress_options options, ingress_hooks hooks);
  ~ingress_server(); ///< Stops without waiting for requests, when `stop` was not called.
  ingress_server(const ingress_server&) = delete;
  ingress_server& operator=(const ingress_server&) = delete;

  /// Binds and starts the threads. Until a snapshot is posted every request is answered 503.
  result<void, problem> start();

  /// The bound port; 0 before `start`.
  std::uint16_t port() const;

  /// Hands the snapshot to every thread. From any thread.
  void post_snapshot(std::shared_ptr<const routing::routing_snapshot> snapshot);

  enum class decision_miss : std::uint8_t { overwritten, never_made, not_ours };
  using found_decision = result<routing::decision_ring::entry, decision_miss>;

  /// Asks the thread that made the decision; `then` is called on that thread, or at once when the
  /// id is not ours or the server does not run. From any thread.
  void find_decision(const decision_id& id, std::function<void(found_decision)> then);

  ingress_stats stats() const;

  /// Stops accepting, closes idle connections, lets requests in flight finish for at most `drain`,
  /// then cuts them. Returns when all threads have ended. Call once, not from a hook.
  void stop(std::chrono::milliseconds drain);

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace assay::http
