#include "tests/support/raw_client.hpp"

#include "src/base/check.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace assay::tests {

raw_client::raw_client(std::uint16_t port, int receive_buffer_bytes) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (receive_buffer_bytes > 0)
    ::setsockopt(
      socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes
    );
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  check(::connect(socket_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0, "connect of a test");
}

void raw_client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0)
      return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void raw_client::send_slowly(std::string_view bytes) {
  for (auto c : bytes)
    send({&c, 1});
}

bool raw_client::fill() {
  pollfd wanted{socket_, POLLIN, 0};
  if (::poll(&wanted, 1, static_cast<int>(limit_.count())) <= 0)
    return false;
  char piece[65'536];
  auto got = ::recv(socket_, piece, sizeof piece, 0);
  if (got <= 0) {
    closed_ = true;
    return false;
  }
  held_.append(piece, static_cast<std::size_t>(got));
  return true;
}

bool raw_client::read_until(std::string_view text, std::size_t from) {
  while (held_.find(text, from) == held_.npos)
    if (!fill())
      return false;
  return true;
}

std::string raw_client::read_all() {
  while (fill()) {
  }
  return std::exchange(held_, {});
}

std::string raw_client::read_answer() {
  if (!read_until("\r\n\r\n"))
    return std::exchange(held_, {});
  auto head_size = held_.find("\r\n\r\n") + 4;
  auto head = held_.substr(0, head_size);
  auto length = header_of(head, "content-length");
  auto whole = head_size;
  if (!length.empty()) {
    whole += std::stoul(length);
    while (held_.size() < whole && fill()) {
    }
  } else if (header_of(head, "transfer-encoding") == "chunked") {
    read_until("\r\n0\r\n\r\n", head_size - 2);
    whole = std::min(held_.find("\r\n0\r\n\r\n", head_size - 2), held_.size());
    whole = std::min(whole + 7, held_.size());
  }
  auto answer = held_.substr(0, whole);
  held_.erase(0, whole);
  return answer;
}

void raw_client::close() {
  if (socket_ >= 0)
    ::close(std::exchange(socket_, -1));
}

void raw_client::reset() {
  linger now{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

void raw_client::finish_sending() {
  ::shutdown(socket_, SHUT_WR);
}

int status_of(std::string_view answer) {
  return answer.size() < 12 ? 0 : std::stoi(std::string{answer.substr(9, 3)});
}

std::string_view body_of(std::string_view answer) {
  auto end = answer.find("\r\n\r\n");
  return end == answer.npos ? std::string_view{} : answer.substr(end + 4);
}

std::string dechunked(std::string_view body) {
  std::string all;
  while (!body.empty()) {
    auto line = body.find("\r\n");
    if (line == body.npos)
      break;
    auto size = std::stoul(std::string{body.substr(0, line)}, nullptr, 16);
    if (size == 0 || body.size() < line + 4 + size)
      break;
    all += body.substr(line + 2, size);
    body.remove_prefix(line + 4 + size);
  }
  return all;
}

std::string header_of(std::string_view answer, std::string_view lower_case_name) {
  auto head = answer.substr(0, answer.find("\r\n\r\n"));
  std::string lower{head};
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  auto at = lower.find("\r\n" + std::string{lower_case_name} + ": ");
  if (at == std::string::npos)
    return {};
  at += lower_case_name.size() + 4;
  return std::string{head.substr(at, std::min(head.find("\r\n", at), head.size()) - at)};
}

} // namespace assay::tests
