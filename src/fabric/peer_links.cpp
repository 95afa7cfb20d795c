#include "src/fabric/peer_links.hpp"

#include "src/fabric/peer_links_thread.hpp"
#include "src/fabric/probe.hpp"
#include "src/fabric/zap.hpp"
#include "src/wire/peer_checks.hpp"

#include <pthread.h>

#include <cerrno>

namespace assay::peers {

namespace {

constexpr int frames_in_libzmq = 4; // Per connection; each may be a whole page.
constexpr auto probe_patience = std::chrono::milliseconds{10'000};

} // namespace

result<void, problem> peer_links::thread::open() {
  auto wrong = sift(wanted_, options_.self, options_.keys.shared);
  if (!wrong.empty())
    return unexpected{wrong.front()};
  auto bound = bind();
  if (!bound)
    return bound;
  thread_ = std::thread{[this] {
    ::pthread_setname_np(::pthread_self(), "peer links");
    run();
  }};
  return prove_closed();
}

result<void, problem> peer_links::thread::bind() {
  zap_ = fabric::socket{context_, ZMQ_REP};
  router_ = fabric::socket{context_, ZMQ_ROUTER};
  // A larger frame than allowed is dropped and counted; far above, libzmq ends the connection.
  constexpr auto frame_bytes = static_cast<std::int64_t>(limits::peer_frame_bytes + (1 << 20));
  // The handler stands before the door opens: a CURVE server that finds none lets every key in.
  bool ready = zap_ && router_ && zap_.bind(std::string{fabric::zap_endpoint})
               && set_common(router_, frames_in_libzmq) && router_.set(ZMQ_MAXMSGSIZE, frame_bytes)
               && set_curve_server(router_, options_.keys)
               && router_.set(ZMQ_ZAP_DOMAIN, fabric::zap_domain)
               && router_.set(ZMQ_ROUTER_MANDATORY, 1);
  if (ready && router_.bind("tcp://" + options_.listen)) {
    endpoint_ = router_.last_endpoint();
    address_ = endpoint_.substr(std::string_view{"tcp://"}.size());
    return {};
  }
  return unexpected{problem{
    problem_kind::unavailable,
    "cannot listen for coordinators: " + std::string{zmq_strerror(errno)},
    options_.listen,
    "Give a free HOST:PORT of this machine, or port 0 for any free one",
  }};
}

result<void, problem> peer_links::thread::prove_closed() {
  auto outcome = fabric::probe_with_unknown_key(
    context_, fabric::dial_of(endpoint_), options_.keys.shared, probe_patience
  );
  if (outcome == fabric::probe_outcome::refused)
    return {};
  auto what = outcome == fabric::probe_outcome::let_in
                ? "the coordinators' port let a key in that nobody allowed"
                : "the coordinators' port did not answer its own self-test";
  return unexpected{problem{
    problem_kind::unavailable,
    what,
    address_,
    "Nothing was started. Check that loopback traffic to this port is not filtered, and start "
    "again",
  }};
}

result<std::unique_ptr<peer_links>, problem>
peer_links::start(link_options options, link_events events) {
  if (auto wrong = refuse(hello{
        .session = 1,
        .cluster = options.self.cluster,
        .node = options.self.node,
        .disk = options.self.disk,
      }))
    return unexpected{*std::move(wrong)};
  auto worker = std::make_unique<thread>(std::move(options), std::move(events));
  auto opened = worker->open();
  if (!opened)
    return unexpected{opened.error()};
  return std::unique_ptr<peer_links>{new peer_links{std::move(worker)}};
}

peer_links::peer_links(std::unique_ptr<thread> worker) : worker_{std::move(worker)} {}

peer_links::~peer_links() = default;

send_outcome peer_links::send(std::uint64_t to, const message& what) {
  return worker_->send(to, what);
}

std::vector<problem> peer_links::set_peers(std::vector<peer> peers) {
  return worker_->set_peers(std::move(peers));
}

const std::string& peer_links::address() const {
  return worker_->address();
}

link_counters peer_links::counters() const {
  return worker_->counters();
}

} // namespace assay::peers
