#pragma once
// One HTTP thread and all that it owns.
//
// Everything here but `post` is touched by this thread alone: loop, sockets, wheel, pool of
// upstream connections, snapshot pointer, decision ring and the batch of outcomes.

#include "src/http/body_room.hpp"
#include "src/http/event_loop.hpp"
#include "src/http/ingress_server.hpp"
#include "src/http/retry.hpp"
#include "src/http/scan.hpp"
#include "src/http/sockets.hpp"
#include "src/http/sse.hpp"
#include "src/http/timer_wheel.hpp"
#include "src/http/upstream_pool.hpp"
#include "src/routing/trace.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <system_error>
#include <unordered_set>

namespace assay::http {

class connection;

/// What all threads of one ingress share: constants, and counters that only add up.
struct ingress_common {
  ingress_common(ingress_options o, ingress_hooks h)
    : options{std::move(o)}, hooks{std::move(h)}, bodies{options.limits.bodies_bytes} {}

  ingress_options options;
  ingress_hooks hooks;
  std::atomic<std::uint64_t> next_ticket{1};
  body_room bodies;
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> open{0};
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> client_gone{0};
  std::atomic<std::uint64_t> connects{0};
  std::atomic<std::uint64_t> reuses{0};
  std::atomic<std::uint64_t> replays{0};
  std::atomic<std::uint64_t> retries{0};
  std::atomic<std::uint64_t> streams_cut{0};
};

inline void count(std::atomic<std::uint64_t>& counter) {
  counter.fetch_add(1, std::memory_order_relaxed);
}

class lane : public std::enable_shared_from_this<lane> {
  // First, so that they end last: sockets leave the loop when they are closed.
  std::shared_ptr<ingress_common> common_;
  event_loop loop_;
  unsigned number_;

public:
  lane(std::shared_ptr<ingress_common> common, unsigned number);
  ~lane();

  /// Binds; port 0 takes any free one. `to` names what is bound now.
  std::error_code listen(const asio::ip::tcp::endpoint& at, asio::ip::tcp::endpoint& to);

  void run(); ///< The thread's body; returns after `drain` once no connection is left.

  /// From any thread: runs `what` on this one, unless it has ended.
  void post(std::function<void()> what) { loop_.post(std::move(what)); }

  // -- this thread only ---------------------------------------------------------------------------

  void drain(); ///< Accepts no more, closes idle connections, ends when the last one has.
  void cut();   ///< Ends every connection now.
  bool draining() const { return draining_; }

  void joined(connection& c) { connections_.insert(&c); }
  void left(connection& c);

  void watch(timer_wheel::entry& e, steady_time due);

  void report(routing::outcome o);

  /// The id under which `assay explain` finds what stands at a position of this thread's ring.
  decision_id id_of(std::uint64_t position) const;

  std::uint64_t random();
  std::string new_request_id();

  /// A read buffer of limits::upstream_buffer_bytes, reused between answers.
  std::unique_ptr<char[]> take_buffer();
  void give_buffer(std::unique_ptr<char[]> buffer);

  event_loop& loop() { return loop_; }
  steady_time now() const { return loop_.now(); } ///< When the turn began.
  ingress_common& common() { return *common_; }
  const ingress_options& options() const { return common_->options; }
  unsigned number() const { return number_; }

  std::shared_ptr<const routing::routing_snapshot> snapshot;
  routing::decision_ring ring;
  body_scanner scanner;
  answer_reader reader;
  std::string head; ///< Where heads are written: nearly all leave at once, in one write.
  upstream_pool upstreams;
  retry_budget retries;

private:
  /// The listening socket.
  struct front final : event_loop::source {
    explicit front(lane& l) : owner{l} {}
    void on_ready(std::uint32_t) override { owner.accept(); }
    lane& owner;
    int descriptor = -1;
  };

  void accept();
  void take(int descriptor, const asio::ip::tcp::endpoint& from);
  void stop_accepting();
  steady_time next_due() const;
  void on_time();
  void flush_outcomes();

  static constexpr steady_time never = steady_time::max();

  front front_{*this};
  timer_wheel wheel_;
  steady_time wheel_due_ = never;
  steady_time outcomes_due_ = never;
  steady_time sweep_due_ = never;
  steady_time accept_due_ = never; ///< After a pause, because no descriptor was left.
  bool draining_ = false;
  std::unordered_set<connection*> connections_;
  std::vector<routing::outcome> outcomes_;
  std::vector<std::unique_ptr<char[]>> buffers_;
  std::uint64_t seed_;
};

} // namespace assay::http
