#pragma once
// One client connection: reads requests, one at a time, and watches for the client leaving.
//
// Bytes are read when they are wanted and have come. While a request is being served, what the
// client sends stays in its socket; that it has closed its side means that it has gone: whatever
// the exchange waits for is then ended at once. Limits are one entry in the thread's timer wheel,
// whose due time follows from what the connection waits for.

#include "src/http/coroutine.hpp"
#include "src/http/framing.hpp"
#include "src/http/lane.hpp"
#include "src/http/reply.hpp"

#include <coroutine>
#include <memory>
#include <string>

namespace assay::http {

inline steady_time now() {
  return std::chrono::steady_clock::now();
}

/// What the connection waits for; each has its own limit.
enum class wait : std::uint8_t {
  request,     ///< The first byte of the next request.
  head,        ///< The rest of a head.
  body,        ///< The next piece of a body.
  turn,        ///< A ticket.
  connect,     ///< The replica's SYN-ACK.
  request_out, ///< The replica to read the request.
  first_token, ///< The replica's head, and then its first content; until `until` alone.
  more,        ///< The next piece of the answer.
  trailer,     ///< What follows `[DONE]`.
  client,      ///< The client to read.
  linger,      ///< The client to close.
};

class connection : public std::enable_shared_from_this<connection>, timer_wheel::entry {
public:
  connection(lane& owner, int accepted, std::string peer);
  ~connection() override;

  static void start(std::shared_ptr<connection> c);

  void drain(); ///< Closes if no request is in progress; else the answer says close.
  void cut();   ///< Ends everything now.

  // -- for the exchange ---------------------------------------------------------------------------

  lane& owner() { return lane_; }
  const std::string& peer() const { return peer_; }

  /// From the current request's first byte on; moves when more is read into the buffer.
  std::string_view bytes() const { return {buffer_.get() + begin_, end_ - begin_}; }
  const request_head& head() const { return reader_.head(); }

  bool gone() const { return gone_; }
  /// A limit passed since the last call.
  bool take_late() { return std::exchange(late_, false); }

  /// Sets what is waited for, and so its limit. `until` bounds it from above.
  void enter(wait what);
  void enter(wait what, steady_time until);
  /// A sign of life: the limit counts from now.
  void touch(steady_time now) { since_ = now; }

  /// The upstream socket that is closed when the client goes or a limit passes; null for none.
  void guard(tcp_socket* upstream) { upstream_ = upstream; }

  /// Signs that we are there, each as a chunk: a comment, and Anthropic's event.
  static constexpr std::string_view comment_chunk = "e\r\n: keep-alive\n\n\r\n";
  static constexpr std::string_view ping_chunk =
    "24\r\nevent: ping\ndata: {\"type\": \"ping\"}\n\n\r\n";

  /// A comment may be sent when the replica is silent; told again after each write.
  struct comment_terms {
    bool allowed = false;
    bool chunked = false;
    bool pings = false; ///< Anthropic's event `ping` instead, which its clients know.
  };
  void allow_comments(comment_terms terms) { comments_ = terms; }

  /// Makes room for `size` bytes from the request's first one, and for what is read ahead.
  void make_room(std::size_t size);
  std::size_t capacity() const { return size_ - begin_; } ///< Readable behind `bytes().data()`.
  /// `make_room(size)` would allocate nothing.
  bool has_room(std::size_t size) const;
  /// Forgets bytes in the middle of the request that were taken out already.
  void discard(std::size_t from, std::size_t size);
  /// The client has closed its side, and is gone from now on: an answer is of no use to it.
  bool has_left() { return gone_ = gone_ || socket_.hung_up(); }

  /// Awaited until `wake`, a limit, or the client goes.
  struct pause {
    connection& c;
    bool await_ready() const noexcept { return c.gone_; }
    void await_suspend(std::coroutine_handle<> waiting) noexcept { c.waiter_ = waiting; }
    void await_resume() const noexcept {}
  };
  pause until_woken() { return {*this}; }
  void wake();

  /// Awaited: how many bytes have come, into the buffer or `into`; 0 when late, gone or woken for
  /// nothing.
  struct arrival {
    connection& c;
    char* into;
    std::size_t size;
    bool await_ready() const noexcept { return c.gone_; }
    void await_suspend(std::coroutine_handle<> waiting) noexcept {
      c.waiter_ = waiting;
      if (c.socket_.may_read())
        c.socket_.tell_again();
    }
    std::size_t await_resume() { return c.take(into, size); }
  };
  arrival more() { return {*this, nullptr, 0}; }
  arrival more(char* into, std::size_t size) { return {*this, into, size}; }

  /// Writes all of it, waiting for a slow reader. False: the client is gone.
  bool try_send(parts& p);
  task<bool> finish_send(parts& p);
  task<bool> send(std::string_view text);

  /// Ends the connection so that the client sees a cut answer.
  void abort();
  bool draining() const { return lane_.draining(); }

  /// Ticket answers come from other threads and may come late.
  void answer_ticket(std::uint64_t number, ticket_answer answer);
  void expect_ticket(std::uint64_t number) { ticket_ = number; }
  bool has_ticket() const { return answer_.has_value(); }
  std::optional<ticket_answer> take_ticket() { return std::exchange(answer_, std::nullopt); }

  /// The caller's key in this connection's last request, so that it is hashed once.
  digest digest_of(std::string_view key);

private:
  static detached run(std::shared_ptr<connection> c);
  task<void> serve();
  task<bool> read_head();
  task<void> refuse_head(const refusal& r);
  task<void> linger();
  void next_request(std::size_t used);

  /// The client's end, which tells of news that no coroutine awaits.
  struct client_socket final : tcp_socket {
    client_socket(connection& c, int accepted);
    void on_news() override { owner.on_news(); }
    connection& owner;
  };

  std::size_t take(char* into, std::size_t size);
  void on_news();
  void leave();
  void end_waits();

  std::optional<steady_time> on_time(steady_time now) override;
  steady_time due() const;
  steady_time answer_due() const;
  void expire(steady_time now);
  bool send_comment();

  lane& lane_;
  client_socket socket_;
  std::string peer_;
  request_reader reader_;

  std::unique_ptr<char[]> buffer_;
  std::size_t size_ = 0;
  std::size_t begin_ = 0; ///< Of the current request.
  std::size_t end_ = 0;   ///< Of what has been read.
  bool gone_ = false;
  bool late_ = false;
  bool closed_ = false;
  bool busy_ = false; ///< A request is in progress.
  wait waits_for_ = wait::request;
  steady_time since_{};
  steady_time until_ = steady_time::max();
  steady_time commented_{};
  comment_terms comments_;
  tcp_socket* upstream_ = nullptr;
  std::coroutine_handle<> waiter_;
  std::uint64_t ticket_ = 0;
  std::optional<ticket_answer> answer_;
  std::string last_key_;
  digest last_digest_;
};

} // namespace assay::http
