#pragma once
// Non-blocking TCP for coroutines: reads when the loop has said that something is there, writes at
// once.
//
// A write almost always fits the socket's buffer, so it is one system call with all its parts and
// no trip through the loop; only what did not fit waits. A read is made when bytes have come, and
// one that brings less than there was room for has emptied the socket: the next one waits without a
// try. Closing a socket from elsewhere resumes whoever waits for it, from the loop.

#include "src/http/event_loop.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <sys/uio.h>

#include <coroutine>
#include <cstddef>
#include <string_view>

namespace assay::http {

namespace asio = boost::asio; // Of which only addresses are used.

/// All false and zero: there is nothing to take, or no room, now.
struct transfer {
  std::size_t bytes = 0;
  bool ended = false;  ///< The far side sends no more.
  bool failed = false; ///< Ended, broken, or closed by us.
};

class tcp_socket : event_loop::source {
public:
  explicit tcp_socket(event_loop& loop) : loop_{loop} {}
  tcp_socket(event_loop& loop, int accepted); ///< Closed if the loop cannot take it.
  virtual ~tcp_socket();

  /// Awaited, then `is_connected` tells. False: it failed at once.
  bool connect(const asio::ip::tcp::endpoint& to);
  bool is_connected() const;

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  /// Closes without caring how: what can fail here has no consequence.
  void close();
  /// Closes with a reset, so that a reader sees that the answer is cut.
  void reset();
  /// Says to the far side that no more comes.
  void finish_sending();

  /// Takes what is there.
  transfer read(char* into, std::size_t size);
  /// Bytes, or an end, came that were not read yet.
  bool may_read() const { return may_read_; }
  /// The far side has closed its side, or the connection broke; bytes may lie before that.
  bool hung_up() const { return hung_up_; }

  /// Awaited: there may be something to read, or room for a write, or the socket is closed.
  struct readiness {
    tcp_socket& socket;
    bool to_write;

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) const { socket.wait(waiting, to_write); }
    void await_resume() const noexcept {}
  };
  readiness readable() { return {*this, false}; }
  readiness writable() { return {*this, true}; }

  /// Has `on_news` called from the loop.
  void tell_again() { loop_.again(*this); }

protected:
  /// There is something to read, and nobody awaits it. May destroy the socket.
  virtual void on_news() {}

private:
  bool join_loop();
  void wait(std::coroutine_handle<> waiting, bool to_write);
  void on_ready(std::uint32_t events) final;

  event_loop& loop_;
  int descriptor_ = -1;
  bool may_read_ = false;
  bool hung_up_ = false;
  bool waits_to_write_ = false;
  std::coroutine_handle<> waiter_;
};

/// Up to five parts that leave in one call; remembers what has left.
class parts {
public:
  void add(std::string_view bytes);
  bool empty() const { return first_ == count_; }

  /// Writes as much as fits now. `bytes` says how much.
  transfer send(tcp_socket& to);

private:
  void drop(std::size_t bytes);

  iovec part_[5] = {};
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

} // namespace assay::http
