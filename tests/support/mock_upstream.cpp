#include "tests/support/mock_upstream.hpp"

#include "src/base/check.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace assay::tests {

namespace {

/// Reads one request; false at the end of the connection.
bool read_request(int socket, std::string& held, mock_request& request) {
  auto fill = [&] {
    char piece[65'536];
    auto got = ::recv(socket, piece, sizeof piece, 0);
    if (got <= 0)
      return false;
    held.append(piece, static_cast<std::size_t>(got));
    return true;
  };
  std::size_t end = 0;
  while ((end = held.find("\r\n\r\n")) == held.npos)
    if (!fill())
      return false;
  request.head = held.substr(0, end + 4);
  held.erase(0, end + 4);
  std::size_t length = 0;
  if (auto at = request.head.find("content-length: "); at != std::string::npos)
    length = std::stoul(request.head.substr(at + 16));
  while (held.size() < length)
    if (!fill())
      return false;
  request.body = held.substr(0, length);
  held.erase(0, length);
  return true;
}

} // namespace

void mock_peer::send(std::string_view bytes) {
  while (socket_ >= 0 && !bytes.empty()) {
    auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0)
      return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void mock_peer::close() {
  if (socket_ < 0)
    return;
  ::shutdown(socket_, SHUT_RDWR);
  socket_ = -1;
}

void mock_peer::reset() {
  if (socket_ < 0)
    return;
  linger now{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  // Duplicated descriptors do not exist here: the serving thread's close sends the RST.
  socket_ = -1;
}

void mock_peer::finish_sending() {
  ::shutdown(socket_, SHUT_WR);
}

bool mock_peer::closed_within(std::chrono::milliseconds limit) {
  pollfd wanted{socket_, POLLRDHUP, 0};
  return ::poll(&wanted, 1, static_cast<int>(limit.count())) > 0;
}

mock_upstream::mock_upstream(script answer) : answer_{std::move(answer)} {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  check(::bind(listener_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0, "bind of a mock");
  check(::listen(listener_, 512) == 0, "listen of a mock");
  socklen_t size = sizeof at;
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size);
  port_ = ntohs(at.sin_port);
  acceptor_ = std::thread{[this] { accept_all(); }};
}

mock_upstream::~mock_upstream() {
  refuse_connections();
  std::vector<std::thread> threads;
  {
    std::lock_guard hold{mutex_};
    for (auto socket : open_)
      ::shutdown(socket, SHUT_RDWR);
    threads = std::move(threads_);
  }
  for (auto& t : threads)
    t.join();
}

void mock_upstream::refuse_connections() {
  if (stops_.exchange(true))
    return;
  ::shutdown(listener_, SHUT_RDWR); // Wakes the accept.
  acceptor_.join();
  ::close(listener_);
}

void mock_upstream::accept_all() {
  while (!stops_) {
    auto socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0)
      continue;
    int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    std::lock_guard hold{mutex_};
    auto number = accepted_++;
    open_.push_back(socket);
    threads_.emplace_back([this, socket, number] { serve(socket, number); });
  }
}

void mock_upstream::serve(int socket, std::size_t number) {
  std::string held;
  mock_request request;
  mock_peer peer{socket};
  while (peer.is_open() && read_request(socket, held, request)) {
    request.connection = number;
    {
      std::lock_guard hold{mutex_};
      requests_.push_back(request);
      changed_.notify_all();
    }
    answer_(peer, request);
  }
  std::lock_guard hold{mutex_};
  open_.erase(std::find(open_.begin(), open_.end(), socket));
  ::close(socket);
}

std::vector<mock_request> mock_upstream::requests() const {
  std::lock_guard hold{mutex_};
  return requests_;
}

bool mock_upstream::saw(std::size_t count, std::chrono::milliseconds limit) const {
  std::unique_lock hold{mutex_};
  return changed_.wait_for(hold, limit, [&] { return requests_.size() >= count; });
}

std::string json_answer(std::string_view body, std::string_view status) {
  return "HTTP/1.1 " + std::string{status}
         + "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size())
         + "\r\n\r\n" + std::string{body};
}

std::string stream_head() {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
         "Transfer-Encoding: chunked\r\n\r\n";
}

std::string chunk(std::string_view payload) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", payload.size());
  return size + std::string{payload} + "\r\n";
}

std::string content_event(std::string_view text) {
  return R"(data: {"choices":[{"index":0,"delta":{"content":")" + std::string{text}
         + "\"},\"finish_reason\":null}]}\n\n";
}

} // namespace assay::tests
