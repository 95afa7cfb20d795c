#include "src/http/sockets.hpp"

#include "src/base/check.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <utility>

namespace assay::http {

namespace {

void send_at_once(int descriptor) {
  int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

} // namespace

tcp_socket::tcp_socket(event_loop& loop, int accepted) : loop_{loop}, descriptor_{accepted} {
  send_at_once(descriptor_);
  if (!join_loop())
    close();
}

tcp_socket::~tcp_socket() {
  waiter_ = nullptr; // What awaited this socket has ended with it.
  close();
  loop_.forget(*this);
}

bool tcp_socket::connect(const asio::ip::tcp::endpoint& to) {
  check(!is_open(), "a socket is connected once");
  descriptor_ = ::socket(to.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor_ < 0)
    return false;
  send_at_once(descriptor_);
  auto begun = ::connect(descriptor_, to.data(), static_cast<socklen_t>(to.size())) == 0
               || errno == EINPROGRESS;
  if (begun && join_loop())
    return true;
  close();
  return false;
}

bool tcp_socket::is_connected() const {
  int error = 0;
  socklen_t size = sizeof error;
  return is_open() && ::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size) == 0
         && error == 0;
}

void tcp_socket::close() {
  // A second close must not make the loop forget whom the first one is to wake.
  if (!is_open())
    return;
  loop_.forget(*this);
  ::close(std::exchange(descriptor_, -1));
  if (waiter_)
    loop_.again(*this);
}

void tcp_socket::reset() {
  linger now{1, 0};
  ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

void tcp_socket::finish_sending() {
  ::shutdown(descriptor_, SHUT_WR);
}

transfer tcp_socket::read(char* into, std::size_t size) {
  for (;;) {
    auto got = ::recv(descriptor_, into, size, 0);
    if (got > 0) {
      // An end that came together with bytes is not told twice.
      may_read_ = static_cast<std::size_t>(got) == size || hung_up_;
      return {static_cast<std::size_t>(got)};
    }
    if (got == 0)
      return {0, true, true};
    if (errno == EINTR)
      continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
      return {0, false, true};
    may_read_ = false;
    return {};
  }
}

bool tcp_socket::join_loop() {
  return loop_.add(descriptor_, *this, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}

void tcp_socket::wait(std::coroutine_handle<> waiting, bool to_write) {
  check(!waiter_, "a socket is awaited by one coroutine");
  waiter_ = waiting;
  waits_to_write_ = to_write;
  if (!is_open() || (!to_write && may_read_))
    loop_.again(*this);
}

void tcp_socket::on_ready(std::uint32_t events) {
  constexpr std::uint32_t broken = EPOLLHUP | EPOLLERR;
  constexpr std::uint32_t ended = EPOLLRDHUP | broken;
  hung_up_ |= (events & ended) != 0;
  may_read_ |= (events & (EPOLLIN | ended)) != 0;
  auto due = waits_to_write_ ? (events & (EPOLLOUT | broken)) != 0 : may_read_;
  auto wakes = waiter_ && (due || !is_open());
  // Who waited to write does not look for what there is to read.
  if (wakes && waits_to_write_ && may_read_)
    loop_.again(*this);
  // Nothing of this object is touched after these: they may end it.
  if (wakes)
    std::exchange(waiter_, nullptr).resume();
  else if (may_read_ && is_open())
    on_news();
}

void parts::add(std::string_view bytes) {
  if (bytes.empty())
    return;
  check(count_ < std::size(part_), "more parts in one write than there is room for");
  part_[count_++] = {const_cast<char*>(bytes.data()), bytes.size()};
}

void parts::drop(std::size_t bytes) {
  while (bytes > 0) {
    auto& part = part_[first_];
    if (bytes < part.iov_len) {
      part.iov_base = static_cast<char*>(part.iov_base) + bytes;
      part.iov_len -= bytes;
      return;
    }
    bytes -= part.iov_len;
    ++first_;
  }
}

transfer parts::send(tcp_socket& to) {
  transfer all;
  while (!empty()) {
    msghdr message{};
    message.msg_iov = part_ + first_;
    message.msg_iovlen = count_ - first_;
    auto sent = ::sendmsg(to.descriptor(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent < 0) {
      all.failed = errno != EAGAIN && errno != EWOULDBLOCK;
      return all;
    }
    drop(static_cast<std::size_t>(sent));
    all.bytes += static_cast<std::size_t>(sent);
  }
  return all;
}

} // namespace assay::http
