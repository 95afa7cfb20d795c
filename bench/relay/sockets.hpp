#pragma once
// The few socket calls that the mock and the loader share. Errors end the program: a bench that
// cannot open a socket has nothing to measure.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace assay::bench {

inline std::uint64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u
         + static_cast<std::uint64_t>(t.tv_nsec);
}

[[noreturn]] inline void stop(const char* what) {
  std::perror(what);
  std::exit(1);
}

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

inline void send_at_once(int socket) {
  int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// Listens on a free loopback port.
inline int listen_anywhere(std::uint16_t& port) {
  int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  auto at = loopback(0);
  if (::bind(socket, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0)
    stop("bind");
  if (::listen(socket, 4'096) != 0)
    stop("listen");
  socklen_t size = sizeof at;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size);
  port = ntohs(at.sin_port);
  return socket;
}

inline int connect_to(std::uint16_t port) {
  int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto at = loopback(port);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0)
    stop("connect");
  ::fcntl(socket, F_SETFL, O_NONBLOCK);
  send_at_once(socket);
  return socket;
}

} // namespace assay::bench
