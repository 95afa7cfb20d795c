#pragma once
// Non-blocking TCP for coroutines: waits go through Asio's reactor, writes are tried at once.
//
// A write almost always fits the socket's buffer, so it is one system call with all its parts and
// no trip through the reactor; only what did not fit waits. Closing a socket from elsewhere ends a
// wait on it with `operation_aborted`.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <sys/uio.h>

#include <coroutine>
#include <cstddef>
#include <span>
#include <string_view>

namespace assay::http {

namespace asio = boost::asio;
using error_code = boost::system::error_code;
using tcp_socket = asio::basic_stream_socket<asio::ip::tcp, asio::io_context::executor_type>;

struct transfer {
  error_code error;
  std::size_t bytes = 0;
};

/// Awaited: bytes, or an error (`eof` included).
class read_some {
public:
  read_some(tcp_socket& from, char* into, std::size_t size)
    : socket_{from}, into_{into}, size_{size} {}

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting);
  transfer await_resume() const noexcept { return done_; }

private:
  tcp_socket& socket_;
  char* into_;
  std::size_t size_;
  transfer done_;
};

/// Awaited: room for a write, or an error.
class writable {
public:
  explicit writable(tcp_socket& socket) : socket_{socket} {}

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting);
  error_code await_resume() const noexcept { return error_; }

private:
  tcp_socket& socket_;
  error_code error_;
};

/// Awaited: connected, or an error.
class connected {
public:
  connected(tcp_socket& socket, const asio::ip::tcp::endpoint& to) : socket_{socket}, to_{to} {}

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting);
  error_code await_resume() const noexcept { return error_; }

private:
  tcp_socket& socket_;
  asio::ip::tcp::endpoint to_;
  error_code error_;
};

/// Up to four parts that leave in one call; remembers what has left.
class parts {
public:
  void add(std::string_view bytes);
  bool empty() const { return first_ == count_; }

  /// Writes as much as fits now. `bytes` says how much; no error when it would block.
  transfer send(tcp_socket& to);

private:
  void drop(std::size_t bytes);

  iovec part_[5] = {};
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

/// The far side has closed, or sent what nobody asked for: not fit for another request.
bool is_stale(tcp_socket& socket);

/// Closes without caring how: what can fail here has no consequence.
void close_quietly(tcp_socket& socket);

/// Closes with a reset, so that a reader sees that the answer is cut.
void reset_quietly(tcp_socket& socket);

} // namespace assay::http
