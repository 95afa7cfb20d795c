// Loads a ledger for the bench, closed loop: each client has one text under way, and puts the next
// when the last one is durable. One thread; what it costs is printed too.
//
//   ledger_load assay|etcd CLIENTS CONNECTIONS WARM_MS MEASURE_MS PORT...
//
// Of several ports the one whose member leads is loaded (for etcd the caller finds it). Prints
// `warm` when warming ends, then one line: rate p50_us p99_us count failures client_cpu_us.

#include "bench/ledger/frame.hpp"
#include "bench/ledger/talk.hpp"
#include "bench/relay/sockets.hpp"

#include <sys/epoll.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <vector>

using namespace assay::bench;

namespace {

struct connection {
  int socket = -1;
  std::unique_ptr<assay::bench::talk> talk;
};

struct measure {
  bool counts = false;
  std::vector<std::uint32_t> us;
  std::uint64_t failures = 0;
};

std::uint32_t percentile(std::vector<std::uint32_t>& us, double share) {
  if (us.empty())
    return 0;
  auto at = us.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(us.size() - 1));
  std::nth_element(us.begin(), at, us.end());
  return *at;
}

/// A text of its own each time, so that no record is like the one before.
std::string next_text() {
  static std::uint64_t count = now_ns();
  auto text = "items " + std::to_string(++count) + " ";
  text.resize(text_bytes, 'x');
  return text;
}

double cpu_us() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  auto us = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
  };
  return us(used.ru_utime) + us(used.ru_stime);
}

void receive(int socket, talk& by) {
  char piece[65'536];
  auto got = ::recv(socket, piece, sizeof piece, 0);
  if (got < 0 && errno == EAGAIN)
    return;
  if (got <= 0) {
    std::fprintf(stderr, "ledger_load: the far side closed a connection\n");
    std::exit(1);
  }
  by.hear({piece, static_cast<std::size_t>(got)});
}

/// All of it: sockets of loopback take a closed loop's questions at once, or soon.
void send_all(int socket, std::string& out) {
  while (!out.empty()) {
    auto sent = ::send(socket, out.data(), out.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN)
      stop("send");
    out.erase(0, static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
  }
}

bool leads(std::uint16_t port) {
  int socket = connect_to(port);
  bool is_leader = false, is_told = false;
  auto asks = talk_to_member([&](std::uint32_t, bool yes) {
    is_leader = yes;
    is_told = true;
  });
  asks->ask(0, {});
  send_all(socket, asks->outgoing());
  while (!is_told)
    receive(socket, *asks);
  ::close(socket);
  return is_leader;
}

class loader {
public:
  loader(bool is_etcd, std::size_t clients, std::size_t connections, std::uint16_t port)
    : began_ns_(clients) {
    loop_ = ::epoll_create1(EPOLL_CLOEXEC);
    auto told = [this](std::uint32_t client, bool is_done) { answered(client, is_done); };
    for (std::size_t i = 0; i < connections; ++i) {
      connections_.push_back({connect_to(port), is_etcd ? talk_to_etcd(told) : talk_to_member(told)}
      );
      epoll_event wanted{EPOLLIN, {.u64 = i}};
      ::epoll_ctl(loop_, EPOLL_CTL_ADD, connections_.back().socket, &wanted);
    }
    for (std::uint32_t client = 0; client < clients; ++client)
      ask(client);
    for (auto& c : connections_)
      send_all(c.socket, c.talk->outgoing());
  }

  measure run(std::uint64_t warm_ns, std::uint64_t measure_ns) {
    std::vector<epoll_event> ready(512);
    auto began = now_ns();
    for (auto now = began; now < began + warm_ns + measure_ns; now = now_ns()) {
      if (!seen_.counts && now >= began + warm_ns)
        begin_counting();
      auto count = ::epoll_wait(loop_, ready.data(), static_cast<int>(ready.size()), 10);
      for (int i = 0; i < count; ++i) {
        auto& c = connections_[ready[static_cast<std::size_t>(i)].data.u64];
        receive(c.socket, *c.talk);
        send_all(c.socket, c.talk->outgoing());
      }
    }
    return std::move(seen_);
  }
  double cpu_at_warm() const { return cpu_at_warm_; }

private:
  void begin_counting() {
    seen_.counts = true;
    cpu_at_warm_ = cpu_us();
    std::puts("warm");
    std::fflush(stdout);
  }

  void ask(std::uint32_t client) {
    began_ns_[client] = now_ns();
    connections_[client % connections_.size()].talk->ask(client, next_text());
  }

  void answered(std::uint32_t client, bool is_done) {
    if (seen_.counts && is_done)
      seen_.us.push_back(static_cast<std::uint32_t>((now_ns() - began_ns_[client]) / 1'000));
    seen_.failures += !is_done;
    ask(client);
  }

  int loop_ = -1;
  std::vector<connection> connections_;
  std::vector<std::uint64_t> began_ns_; ///< By client.
  measure seen_;
  double cpu_at_warm_ = 0;
};

} // namespace

int main(int argc, char** argv) {
  if (argc < 7) {
    std::fprintf(
      stderr, "usage: ledger_load assay|etcd CLIENTS CONNECTIONS WARM_MS MEASURE_MS PORT...\n"
    );
    return 2;
  }
  const bool is_etcd = std::string_view{argv[1]} == "etcd";
  auto number = [&](int at) { return std::strtoull(argv[at], nullptr, 10); };
  auto port = static_cast<std::uint16_t>(number(6));
  for (int i = 6; !is_etcd && i < argc; ++i)
    if (leads(static_cast<std::uint16_t>(number(i))))
      port = static_cast<std::uint16_t>(number(i));
  loader load{is_etcd, number(2), number(3), port};
  const auto measure_ns = number(5) * 1'000'000;
  auto seen = load.run(number(4) * 1'000'000, measure_ns);
  const auto count = seen.us.size();
  std::printf(
    "%.0f %u %u %zu %llu %.2f\n",
    static_cast<double>(count) * 1e9 / static_cast<double>(measure_ns),
    percentile(seen.us, 0.5),
    percentile(seen.us, 0.99),
    count,
    static_cast<unsigned long long>(seen.failures),
    count == 0 ? 0.0 : (cpu_us() - load.cpu_at_warm()) / static_cast<double>(count)
  );
}
