#include "src/fabric/peer_links.hpp"

#include "src/fabric/peer_links_thread.hpp"
#include "src/wire/peer_checks.hpp"

#include <pthread.h>

#include <utility>

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
  auto worker = std::make_unique<thread>(options, events);
  auto opened = worker->open();
  if (!opened)
    return unexpected{opened.error()};
  return std::unique_ptr<peer_links>{
    new peer_links{std::move(options), std::move(events), std::move(worker)}};
}

peer_links::peer_links(link_options options, link_events events, std::unique_ptr<thread> worker)
  : events_{std::move(events)}, address_{worker->address()}, options_{std::move(options)},
    worker_{std::move(worker)} {
  options_.listen = address_;
}

peer_links::~peer_links() = default;

result<void, problem> peer_links::change_keys(const fabric::key_pair& keys) {
  std::unique_lock hold{mutex_};
  options_.keys = keys;
  auto before = std::exchange(worker_, nullptr);
  auto next = options_;
  hold.unlock();
  auto lost = before ? before->ways_up() : std::vector<thread::way>{};
  before.reset(); // Its thread may call us until it has ended.
  for (const auto& [node, lane] : lost)
    if (events_.down)
      events_.down(node, lane, {problem_kind::unavailable, "our own keys are changed", {}, {}});
  auto worker = std::make_unique<thread>(std::move(next), events_);
  if (auto opened = worker->open(); !opened)
    return opened;
  hold.lock();
  (void)worker->set_peers(options_.peers); // What is wrong with them was told before.
  worker_ = std::move(worker);
  return {};
}

send_outcome peer_links::send(std::uint64_t to, const message& what) {
  std::shared_lock hold{mutex_};
  return worker_ ? worker_->send(to, what) : send_outcome::down;
}

std::vector<problem> peer_links::set_peers(std::vector<peer> peers) {
  std::unique_lock hold{mutex_};
  options_.peers = peers;
  if (worker_)
    return worker_->set_peers(std::move(peers));
  return sift(options_.peers, options_.self, options_.keys.shared);
}

link_counters peer_links::counters() const {
  std::shared_lock hold{mutex_};
  return worker_ ? worker_->counters() : link_counters{};
}

} // namespace assay::peers
