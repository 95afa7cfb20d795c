#include "src/fabric/peer_links.hpp"

#include "src/fabric/peer_links_thread.hpp"
#include "src/wire/peer_checks.hpp"

#include <pthread.h>

namespace assay::peers {

namespace {

constexpr int frames_in_libzmq = 4; // Per connection; each may be a whole page.

} // namespace

result<void, problem> peer_links::thread::open() {
  auto wrong = sift(wanted_, options_.self, options_.keys.shared);
  if (!wrong.empty())
    return unexpected{wrong.front()};
  // A larger frame than allowed is dropped and counted; far above, libzmq ends the connection.
  constexpr auto frame_bytes = static_cast<std::int64_t>(limits::peer_frame_bytes + (1 << 20));
  auto opened = door_.open(
    context_, {options_.listen, options_.keys, "coordinators", frames_in_libzmq, frame_bytes}
  );
  if (!opened)
    return opened;
  thread_ = std::thread{[this] {
    ::pthread_setname_np(::pthread_self(), "peer links");
    run();
  }};
  return door_.prove_closed(context_);
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
