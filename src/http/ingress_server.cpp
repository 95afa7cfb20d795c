#include "src/http/ingress_server.hpp"

#include "src/http/connection.hpp"
#include "src/http/lane.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <charconv>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace assay::http {

namespace {

problem cannot_bind(const ingress_options& o, const std::error_code& error) {
  return {
    problem_kind::unavailable,
    "the ingress cannot listen: " + error.message(),
    o.address + ":" + std::to_string(o.port),
    "stop what listens there (ss -ltnp), or choose another address for the ingress"};
}

std::error_code bound_by_another(const asio::ip::tcp::endpoint& at) {
  asio::io_context context;
  asio::ip::tcp::acceptor alone{context};
  boost::system::error_code error;
  alone.open(at.protocol(), error);
  if (!error)
    alone.set_option(asio::socket_base::reuse_address{true}, error);
  if (!error)
    alone.bind(at, error);
  return error;
}

std::optional<problem> bad_address(const ingress_options& o, asio::ip::address& address) {
  boost::system::error_code error;
  address = asio::ip::make_address(o.address, error);
  if (error)
    return problem{
      problem_kind::invalid,
      "the ingress's address is not an IP address",
      o.address,
      "write one, for example 127.0.0.1"};
  if (!address.is_loopback() && !o.plaintext_accepted)
    return problem{
      problem_kind::refused,
      "the ingress would take API keys in clear text from other hosts",
      o.address,
      "listen on a loopback address, or accept it with `plaintext: accepted` in the configuration"};
  return {};
}

} // namespace

struct ingress_server::state {
  state(ingress_options options, ingress_hooks hooks)
    : common{std::make_shared<ingress_common>(std::move(options), std::move(hooks))} {}

  std::shared_ptr<ingress_common> common;
  std::vector<std::shared_ptr<lane>> lanes;
  std::vector<std::thread> threads;
  std::uint16_t port = 0;
  std::mutex mutex;
  std::condition_variable ended;
  std::size_t running = 0;

  void run(lane& l) {
    l.run();
    std::lock_guard hold{mutex};
    --running;
    ended.notify_all();
  }
};

ingress_server::ingress_server(ingress_options options, ingress_hooks hooks)
  : state_{std::make_unique<state>(std::move(options), std::move(hooks))} {}

ingress_server::~ingress_server() {
  stop(std::chrono::milliseconds{0});
}

result<void, problem> ingress_server::start() {
  auto& s = *state_;
  const auto& options = s.common->options;
  check(s.threads.empty(), "an ingress is started once");
  check(options.threads > 0, "an ingress has at least one thread");
  asio::ip::address address;
  if (auto bad = bad_address(options, address))
    return unexpected{*std::move(bad)};
  asio::ip::tcp::endpoint at{address, options.port};
  // Threads share their port, and would share it with another process that shares its own. Two that
  // begin in the same moment may still both find it free.
  if (options.threads > 1)
    if (auto error = bound_by_another(at); error)
      return unexpected{cannot_bind(options, error)};
  std::vector<std::shared_ptr<lane>> lanes;
  for (unsigned i = 0; i < options.threads; ++i) {
    lanes.push_back(std::make_shared<lane>(s.common, i));
    // The first one settles which port it is.
    if (auto error = lanes.back()->listen(at, at); error)
      return unexpected{cannot_bind(options, error)};
  }
  s.port = at.port();
  s.lanes = std::move(lanes);
  s.running = s.lanes.size();
  for (const auto& l : s.lanes)
    s.threads.emplace_back([&s, l] { s.run(*l); });
  return {};
}

std::uint16_t ingress_server::port() const {
  return state_->port;
}

void ingress_server::post_snapshot(std::shared_ptr<const routing::routing_snapshot> snapshot) {
  for (const auto& l : state_->lanes)
    l->post([l = l.get(), snapshot]() mutable { l->snapshot = std::move(snapshot); });
}

void ingress_server::find_decision(
  const decision_id& id, std::function<void(found_decision)> then
) {
  const auto& options = state_->common->options;
  auto prefix = options.id.value + "-" + std::to_string(options.boot) + "-";
  std::string_view text = id.value;
  std::uint64_t number = 0;
  auto is_ours = text.substr(0, prefix.size()) == prefix;
  if (is_ours) {
    text.remove_prefix(prefix.size());
    auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    is_ours = read.ec == std::errc{} && read.ptr == text.data() + text.size();
  }
  if (!is_ours || state_->threads.empty()) {
    then(unexpected{decision_miss::not_ours});
    return;
  }
  auto* l = state_->lanes[number % options.threads].get();
  l->post([l, position = number / options.threads, then = std::move(then)] {
    auto found = l->ring.find(position);
    if (found)
      then(*std::move(found));
    else if (found.error() == routing::decision_ring::miss::overwritten)
      then(unexpected{decision_miss::overwritten});
    else
      then(unexpected{decision_miss::never_made});
  });
}

ingress_stats ingress_server::stats() const {
  const auto& c = *state_->common;
  return {
    .connections = c.accepted,
    .open = c.open,
    .requests = c.requests,
    .refused = c.refused,
    .client_gone = c.client_gone,
    .upstream_connects = c.connects,
    .upstream_reuses = c.reuses,
    .replays = c.replays,
    .retries = c.retries,
    .streams_cut = c.streams_cut,
    .buffered_bytes = c.bodies.held(),
  };
}

void ingress_server::stop(std::chrono::milliseconds drain) {
  auto& s = *state_;
  if (s.threads.empty())
    return;
  for (const auto& l : s.lanes)
    l->post([l = l.get()] { l->drain(); });
  {
    std::unique_lock hold{s.mutex};
    s.ended.wait_for(hold, drain, [&] { return s.running == 0; });
  }
  for (const auto& l : s.lanes)
    l->post([l = l.get()] { l->cut(); });
  for (auto& t : s.threads)
    t.join();
  s.threads.clear();
}

} // namespace assay::http
