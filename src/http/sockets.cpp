#include "src/http/sockets.hpp"

#include "src/base/check.hpp"
#include "src/http/coroutine.hpp"

#include <boost/asio/buffer.hpp>
#include <sys/socket.h>

#include <cerrno>
#include <iterator>

namespace assay::http {

void read_some::await_suspend(std::coroutine_handle<> waiting) {
  socket_.async_read_some(
    asio::buffer(into_, size_), pooled{[this, waiting](error_code error, std::size_t bytes) {
      done_ = {error, bytes};
      waiting.resume();
    }}
  );
}

void writable::await_suspend(std::coroutine_handle<> waiting) {
  socket_.async_wait(tcp_socket::wait_write, [this, waiting](error_code error) {
    error_ = error;
    waiting.resume();
  });
}

void connected::await_suspend(std::coroutine_handle<> waiting) {
  socket_.async_connect(to_, [this, waiting](error_code error) {
    error_ = error;
    waiting.resume();
  });
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
    auto sent = ::sendmsg(to.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return all;
    if (sent < 0) {
      all.error = error_code{errno, boost::system::system_category()};
      return all;
    }
    drop(static_cast<std::size_t>(sent));
    all.bytes += static_cast<std::size_t>(sent);
  }
  return all;
}

bool is_stale(tcp_socket& socket) {
  char byte = 0;
  auto got = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

void close_quietly(tcp_socket& socket) {
  error_code ignored;
  socket.close(ignored);
}

void reset_quietly(tcp_socket& socket) {
  error_code ignored;
  socket.set_option(asio::socket_base::linger{true, 0}, ignored);
  socket.close(ignored);
}

} // namespace assay::http
