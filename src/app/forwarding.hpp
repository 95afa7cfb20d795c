#pragma once
// The admin API of a coordinator that follows: what only the leader can answer is passed on to it
// over the peer links, with the name of who asked, and its answer comes back.

#include "src/base/worker_pool.hpp"
#include "src/fabric/peer_links.hpp"
#include "src/http/service_listener.hpp"
#include "src/ledger/record.hpp"

#include <deque>
#include <functional>
#include <future>
#include <map>
#include <mutex>

namespace assay::app {

struct forwarding_options {
  std::function<peers::send_outcome(std::uint64_t to, const peers::message&)> tell;
  /// Answers here what another member was asked. A thread of its own; may block.
  std::function<http::service_response(const http::service_request&, const ledger::author&)> serve;
};

class forwarding {
public:
  explicit forwarding(forwarding_options options) : options_{std::move(options)} {}

  /// Waits for the leader's answer. A problem: the leader did not get it, or its answer is lost;
  /// the text says which, because after the latter it may have been done.
  result<http::service_response, problem>
  ask(std::uint64_t leader, const http::service_request& request, const ledger::author& author);

  // From the links' thread.
  void hear(std::uint64_t node, peers::admin_ask what);
  void hear(std::uint64_t node, peers::admin_answer what);
  void lost(std::uint64_t node);    ///< The answers of that member will not come any more.
  void reached(std::uint64_t node); ///< What could not be said to it can be said now.

private:
  using outcome = result<http::service_response, problem>;

  struct waiting {
    std::uint64_t node = 0;
    std::promise<outcome> answer;
  };

  void finish(std::uint64_t number, outcome what);
  void say(std::uint64_t node, peers::admin_answer what);

  forwarding_options options_;
  std::mutex mutex_;
  std::uint64_t asked_ = 0;
  std::map<std::uint64_t, waiting> waiting_;
  /// Answers to those who asked before our own line to them was up; the oldest go first.
  std::map<std::uint64_t, std::deque<peers::admin_answer>> unsaid_;
  worker_pool serving_{4};
};

} // namespace assay::app
