// Loads an address for the bench, closed loop, and prints what it saw on one line.
//
//   relay_load unary PORT CONNECTIONS WARM_MS MEASURE_MS    rate p50_us p99_us count failures
//   relay_load sse   PORT CONNECTIONS WARM_MS MEASURE_MS    events/s p50_us p99_us events failures
//
// For streams the microseconds are from the replica's write of an event to our read of it; both
// ends share one clock. When warming ends it prints `warm` on a line of its own, so that the caller
// can take the proxy's CPU time over the same span.

#include "bench/relay/sockets.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

using namespace assay::bench;

namespace {

constexpr std::string_view key = "sk-bench-0123456789abcdef";

std::string request(bool stream) {
  std::string body =
    R"({"model":"bench-model","messages":[{"role":"system","content":"You are brief."},{"role":"user","content":"What is the capital of France? Answer in one word."}],"max_tokens":16,"temperature":0)";
  body += stream ? R"(,"stream":true})" : R"(,"user":"u1"})";
  return "POST /v1/chat/completions HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer "
         + std::string{key}
         + "\r\nContent-Type: application/json\r\nUser-Agent: bench/1\r\nAccept: */*\r\n"
           "Content-Length: "
         + std::to_string(body.size()) + "\r\n\r\n" + body;
}

struct client {
  int socket = -1;
  std::string held;
  std::uint64_t began_ns = 0;
  bool in_stream = false;
};

struct measure {
  bool counts = false;
  std::vector<std::uint32_t> us;
  std::uint64_t failures = 0;

  void add(std::uint64_t from_ns, std::uint64_t now) {
    if (counts)
      us.push_back(static_cast<std::uint32_t>((now - from_ns) / 1'000));
  }
};

bool is_ok(std::string_view answer) {
  return answer.size() > 12 && answer.substr(9, 3) == "200";
}

std::size_t length_of(const std::string& text, std::size_t head) {
  for (auto at = text.find("ontent-"); at < head; at = text.find("ontent-", at + 1))
    if (::strncasecmp(text.c_str() + at, "ontent-length:", 14) == 0)
      return std::strtoul(text.c_str() + at + 14, nullptr, 10);
  return 0;
}

void ask(client& c, const std::string& text) {
  c.began_ns = now_ns();
  if (::send(c.socket, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
    stop("send");
}

void on_unary(client& c, const std::string& text, measure& m) {
  auto end = c.held.find("\r\n\r\n");
  if (end == c.held.npos || c.held.size() < end + 4 + length_of(c.held, end))
    return;
  m.add(c.began_ns, now_ns());
  m.failures += !is_ok(c.held);
  c.held.clear();
  ask(c, text);
}

void on_stream(client& c, const std::string& text, measure& m) {
  auto now = now_ns();
  std::size_t at = 0;
  for (auto stamp = c.held.find("\"t\":"); stamp != c.held.npos;
       stamp = c.held.find("\"t\":", at)) {
    auto end = c.held.find('}', stamp);
    if (end == c.held.npos)
      break;
    m.add(std::strtoull(c.held.c_str() + stamp + 4, nullptr, 10), now);
    at = end;
  }
  if (!c.in_stream && c.held.find("\r\n\r\n") != c.held.npos) {
    m.failures += !is_ok(c.held);
    c.in_stream = true;
  }
  if (c.held.find("\r\n0\r\n\r\n", at) == c.held.npos) {
    c.held.erase(0, at);
    return;
  }
  c.held.clear();
  c.in_stream = false;
  ask(c, text);
}

std::uint32_t percentile(std::vector<std::uint32_t>& us, double share) {
  if (us.empty())
    return 0;
  auto at = us.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(us.size() - 1));
  std::nth_element(us.begin(), at, us.end());
  return *at;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: relay_load unary|sse PORT CONNECTIONS WARM_MS MEASURE_MS\n");
    return 2;
  }
  bool stream = std::string_view{argv[1]} == "sse";
  auto port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  std::vector<client> clients(std::strtoul(argv[3], nullptr, 10));
  auto warm_ns = std::strtoull(argv[4], nullptr, 10) * 1'000'000;
  auto measure_ns = std::strtoull(argv[5], nullptr, 10) * 1'000'000;
  auto text = request(stream);
  int loop = ::epoll_create1(0);
  for (auto& c : clients) {
    c.socket = connect_to(port);
    epoll_event wanted{EPOLLIN, {.ptr = &c}};
    ::epoll_ctl(loop, EPOLL_CTL_ADD, c.socket, &wanted);
    ask(c, text);
  }
  measure m;
  std::vector<epoll_event> ready(512);
  auto began = now_ns();
  for (auto now = began; now < began + warm_ns + measure_ns; now = now_ns()) {
    if (!m.counts && now >= began + warm_ns) {
      m.counts = true;
      std::puts("warm");
      std::fflush(stdout);
    }
    auto count = ::epoll_wait(loop, ready.data(), static_cast<int>(ready.size()), 10);
    for (int i = 0; i < count; ++i) {
      auto& c = *static_cast<client*>(ready[static_cast<std::size_t>(i)].data.ptr);
      char piece[65'536];
      auto got = ::recv(c.socket, piece, sizeof piece, 0);
      if (got <= 0) {
        std::fprintf(stderr, "relay_load: the far side closed a connection\n");
        return 1;
      }
      c.held.append(piece, static_cast<std::size_t>(got));
      stream ? on_stream(c, text, m) : on_unary(c, text, m);
    }
  }
  auto count = m.us.size();
  std::printf(
    "%.0f %u %u %zu %llu\n",
    static_cast<double>(count) * 1e9 / static_cast<double>(measure_ns),
    percentile(m.us, 0.5),
    percentile(m.us, 0.99),
    count,
    static_cast<unsigned long long>(m.failures)
  );
}
