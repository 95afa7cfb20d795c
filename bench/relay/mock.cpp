// A replica for the bench: answers short chats as fast as a socket allows, and streams events on a
// schedule, each with the time at which it was written.
//
//   relay_mock PORTS EVENTS INTERVAL_MS      prints PORTS port numbers, one a line, then serves
//
// One thread, one epoll. A body that holds `"stream":true` gets a stream, any other a short answer.

#include "bench/relay/sockets.hpp"

#include <sys/epoll.h>

#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

using namespace assay::bench;

namespace {

struct peer {
  std::string held;
  int events_left = 0; ///< 0: no stream in progress.
  std::uint64_t next_ns = 0;
};

struct schedule {
  int events = 200;
  std::uint64_t interval_ns = 20'000'000;
};

std::string short_answer() {
  std::string body =
    R"({"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Paris"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":2}})";
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
         + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string chunk(const std::string& payload) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", payload.size());
  return size + payload + "\r\n";
}

void write_all(int socket, std::string_view bytes) {
  // Answers are far smaller than a socket's buffer; what does not fit is a reader that has stalled.
  while (!bytes.empty()) {
    auto sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0)
      return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string event(std::uint64_t at_ns) {
  return R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"token"},"finish_reason":null}],"t":)"
         + std::to_string(at_ns) + "}\n\n";
}

/// Serves every whole request in `p.held`.
void serve(int socket, peer& p, const schedule& plan) {
  static const auto answer = short_answer();
  for (;;) {
    auto end = p.held.find("\r\n\r\n");
    if (end == p.held.npos)
      return;
    std::size_t length = 0;
    if (auto at = p.held.find("ontent-"); at < end)
      for (; at < end; at = p.held.find("ontent-", at + 1))
        if (::strncasecmp(p.held.c_str() + at, "ontent-length:", 14) == 0)
          length = std::strtoul(p.held.c_str() + at + 14, nullptr, 10);
    if (p.held.size() < end + 4 + length)
      return;
    auto body = std::string_view{p.held}.substr(end + 4, length);
    if (body.find("\"stream\":true") == body.npos) {
      write_all(socket, answer);
    } else {
      write_all(
        socket,
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
      );
      p.events_left = plan.events;
      p.next_ns = now_ns();
    }
    p.held.erase(0, end + 4 + length);
  }
}

void stream(int socket, peer& p, const schedule& plan, std::uint64_t now) {
  while (p.events_left > 0 && p.next_ns <= now) {
    write_all(socket, chunk(event(now_ns())));
    p.next_ns += plan.interval_ns;
    if (--p.events_left > 0)
      continue;
    auto last = R"(data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"
                "\n\n"
                "data: [DONE]\n\n";
    write_all(socket, chunk(last) + "0\r\n\r\n");
  }
}

} // namespace

int main(int argc, char** argv) {
  auto ports = argc > 1 ? std::atoi(argv[1]) : 1;
  schedule plan;
  if (argc > 3)
    plan = {std::atoi(argv[2]), std::strtoull(argv[3], nullptr, 10) * 1'000'000};
  int loop = ::epoll_create1(0);
  std::unordered_map<int, bool> listeners;
  std::unordered_map<int, peer> peers;
  for (int i = 0; i < ports; ++i) {
    std::uint16_t port = 0;
    int socket = listen_anywhere(port);
    listeners[socket] = true;
    epoll_event wanted{EPOLLIN, {.fd = socket}};
    ::epoll_ctl(loop, EPOLL_CTL_ADD, socket, &wanted);
    std::printf("%u\n", port);
  }
  std::fflush(stdout);
  std::vector<epoll_event> ready(512);
  bool streaming = false;
  for (;;) {
    auto count =
      ::epoll_wait(loop, ready.data(), static_cast<int>(ready.size()), streaming ? 1 : -1);
    for (int i = 0; i < count; ++i) {
      int socket = ready[static_cast<std::size_t>(i)].data.fd;
      if (listeners.contains(socket)) {
        int fresh = ::accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fresh < 0)
          continue;
        send_at_once(fresh);
        epoll_event wanted{EPOLLIN, {.fd = fresh}};
        ::epoll_ctl(loop, EPOLL_CTL_ADD, fresh, &wanted);
        peers[fresh] = {};
        continue;
      }
      char piece[65'536];
      auto got = ::recv(socket, piece, sizeof piece, 0);
      if (got <= 0) {
        peers.erase(socket);
        ::close(socket);
        continue;
      }
      auto& p = peers[socket];
      p.held.append(piece, static_cast<std::size_t>(got));
      serve(socket, p, plan);
      streaming |= p.events_left > 0;
    }
    if (!streaming)
      continue;
    streaming = false;
    auto now = now_ns();
    for (auto& [socket, p] : peers) {
      stream(socket, p, plan, now);
      streaming |= p.events_left > 0;
    }
  }
}
