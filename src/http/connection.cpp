#include "src/http/connection.hpp"

#include "src/http/exchange.hpp"

#include <algorithm>
#include <cstring>

namespace assay::http {

namespace {

/// Room behind what was read, for what comes next.
constexpr std::size_t ahead_bytes = 1'024;

} // namespace

connection::client_socket::client_socket(connection& c, int accepted)
  : tcp_socket{c.lane_.loop(), accepted}, owner{c} {}

connection::connection(lane& owner, int accepted, std::string peer)
  : lane_{owner}, socket_{*this, accepted}, peer_{std::move(peer)},
    buffer_{std::make_unique_for_overwrite<char[]>(limits::client_buffer_bytes)},
    size_{limits::client_buffer_bytes}, gone_{!socket_.is_open()} {
  count(lane_.common().open);
}

connection::~connection() {
  lane_.common().open.fetch_sub(1, std::memory_order_relaxed);
}

void connection::start(std::shared_ptr<connection> c) {
  c->lane_.joined(*c);
  run(std::move(c));
}

detached connection::run(std::shared_ptr<connection> c) {
  co_await c->serve();
  c->closed_ = true;
  c->socket_.close();
  c->lane_.left(*c);
}

task<void> connection::serve() {
  for (;;) {
    bool has_head = co_await read_head();
    if (!has_head)
      break;
    busy_ = true;
    exchange e{*this};
    bool keeps = co_await e.run();
    busy_ = false;
    if (!keeps) {
      co_await linger();
      break;
    }
    next_request(e.request_bytes());
    if (draining())
      break;
  }
}

task<bool> connection::read_head() {
  reader_.reset();
  enter(wait::request);
  for (;;) {
    if (end_ > begin_) {
      if (waits_for_ == wait::request)
        enter(wait::head);
      auto got = reader_.read(bytes());
      if (got == reading::complete)
        co_return true;
      if (got == reading::failed) {
        // A local, because g++ 12 destroys a temporary of a co_await expression twice.
        refusal why{reader_.failure(), std::string{reader_.why()}, {}, 0, {}};
        co_await refuse_head(why);
        co_return false;
      }
    }
    if (gone_)
      co_return false;
    co_await more();
    if (take_late()) {
      refusal why{
        contract::failure::request_timeout, "the request head did not arrive in time", {}, 0, {}};
      if (end_ > begin_)
        co_await refuse_head(why);
      co_return false;
    }
  }
}

task<void> connection::refuse_head(const refusal& r) {
  count(lane_.common().refused);
  auto text = write_refusal(r, {{}, false, 1});
  bool sent = co_await send(text);
  if (sent)
    co_await linger();
}

/// Reads on for a little after a refusal that leaves part of the request unread: closing at once
/// would reset the connection, and the client might never see the answer.
task<void> connection::linger() {
  if (gone_)
    co_return;
  socket_.finish_sending();
  enter(wait::linger);
  std::size_t drained = 0;
  while (!gone_ && !late_ && drained < limits::linger_bytes) {
    begin_ = end_ = 0;
    std::size_t came = co_await more();
    drained += came;
  }
}

void connection::next_request(std::size_t used) {
  begin_ += used;
  if (begin_ != end_)
    return;
  begin_ = end_ = 0;
  // A large head made the buffer grow; an idle connection does not keep that.
  if (size_ > limits::client_buffer_bytes) {
    buffer_ = std::make_unique_for_overwrite<char[]>(limits::client_buffer_bytes);
    size_ = limits::client_buffer_bytes;
  }
}

bool connection::has_room(std::size_t size) const {
  return std::max(size, end_ - begin_) + ahead_bytes <= size_;
}

void connection::make_room(std::size_t size) {
  auto wanted = std::max(size, end_ - begin_) + ahead_bytes;
  if (size_ - begin_ >= wanted)
    return;
  auto held = end_ - begin_;
  if (wanted <= size_) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, held);
  } else {
    auto larger = std::max(wanted, size_ * 2);
    auto grown = std::make_unique_for_overwrite<char[]>(larger);
    std::memcpy(grown.get(), buffer_.get() + begin_, held);
    buffer_ = std::move(grown);
    size_ = larger;
  }
  begin_ = 0;
  end_ = held;
}

void connection::discard(std::size_t from, std::size_t size) {
  auto* at = buffer_.get() + begin_ + from;
  std::memmove(at, at + size, end_ - begin_ - from - size);
  end_ -= size;
}

/// Into the buffer if `into` is null.
std::size_t connection::take(char* into, std::size_t size) {
  if (gone_ || late_ || !socket_.may_read())
    return 0;
  if (!into)
    make_room(0);
  auto got = into ? socket_.read(into, size) : socket_.read(buffer_.get() + end_, size_ - end_);
  gone_ = got.failed;
  if (!into)
    end_ += got.bytes;
  return got.bytes;
}

/// Bytes that are not wanted now stay where they are.
void connection::on_news() {
  auto self = shared_from_this();
  auto wanted = waits_for_ == wait::request || waits_for_ == wait::head || waits_for_ == wait::body
                || waits_for_ == wait::linger;
  if (wanted)
    wake();
  else if (socket_.hung_up())
    leave();
}

void connection::wake() {
  if (waiter_)
    std::exchange(waiter_, nullptr).resume();
}

void connection::leave() {
  gone_ = true;
  end_waits();
}

void connection::end_waits() {
  if (upstream_)
    upstream_->close();
  if (waits_for_ == wait::client)
    socket_.close();
  wake();
}

void connection::drain() {
  if (!busy_ && waits_for_ == wait::request && end_ == begin_)
    cut();
}

void connection::cut() {
  auto self = shared_from_this();
  gone_ = true;
  socket_.close();
  end_waits();
}

void connection::abort() {
  gone_ = true;
  socket_.reset();
}

void connection::enter(wait what) {
  enter(what, steady_time::max());
}

void connection::enter(wait what, steady_time until) {
  waits_for_ = what;
  since_ = lane_.now();
  until_ = until;
  lane_.watch(*this, due());
}

steady_time connection::due() const {
  const auto& limits = lane_.options().limits;
  switch (waits_for_) {
  case wait::request:
    return since_ + limits.idle;
  case wait::head:
    return since_ + limits.head;
  case wait::body:
    return std::min(since_ + limits.write_stall, until_);
  case wait::connect:
    return std::min(since_ + limits.connect, until_);
  case wait::request_out:
    return std::min(since_ + limits.write_stall, until_);
  case wait::trailer:
    return since_ + limits::trailer_grace;
  case wait::client:
    return since_ + limits.write_stall;
  case wait::linger:
    return since_ + limits::linger_time;
  case wait::turn:
  case wait::first_token:
  case wait::more:
    break;
  }
  if (!comments_.allowed)
    return answer_due();
  return std::min(answer_due(), std::max(since_, commented_) + limits.keepalive);
}

/// When an answer that does not come is given up.
steady_time connection::answer_due() const {
  auto gap = lane_.options().limits.gap;
  return waits_for_ == wait::more ? std::min(since_ + gap, until_) : until_;
}

std::optional<steady_time> connection::on_time(steady_time t) {
  if (closed_ || gone_)
    return {};
  if (t < due())
    return due();
  auto self = shared_from_this();
  expire(t);
  if (closed_ || gone_ || late_)
    return {};
  return due();
}

void connection::expire(steady_time t) {
  auto awaits_answer =
    waits_for_ == wait::more || waits_for_ == wait::first_token || waits_for_ == wait::turn;
  if (awaits_answer && t < answer_due()) {
    commented_ = t;
    if (!send_comment())
      leave();
    return;
  }
  late_ = true;
  if (waits_for_ == wait::client) {
    abort();
    if (upstream_)
      upstream_->close();
    return;
  }
  end_waits();
}

/// True also when the client's buffer is full: it has enough to read then.
bool connection::send_comment() {
  constexpr std::string_view comment = ": keep-alive\n\n";
  static_assert(comment.size() == 0xe);
  auto text = comments_.pings ? ping_chunk : comments_.chunked ? comment_chunk : comment;
  parts p;
  p.add(text);
  auto sent = p.send(socket_);
  return !sent.failed && (sent.bytes == 0 || sent.bytes == text.size());
}

bool connection::try_send(parts& p) {
  auto sent = p.send(socket_);
  if (sent.failed)
    gone_ = true;
  return p.empty() && !gone_;
}

task<bool> connection::finish_send(parts& p) {
  auto before = waits_for_;
  auto until = until_;
  while (!gone_ && !p.empty()) {
    enter(wait::client);
    co_await socket_.writable();
    if (!gone_ && p.send(socket_).failed)
      gone_ = true;
  }
  if (!gone_)
    enter(before, until);
  co_return !gone_;
}

task<bool> connection::send(std::string_view text) {
  parts p;
  p.add(text);
  if (try_send(p))
    co_return true;
  bool sent = co_await finish_send(p);
  co_return sent;
}

void connection::answer_ticket(std::uint64_t number, ticket_answer answer) {
  if (closed_ || number != ticket_ || answer_)
    return;
  answer_ = std::move(answer);
  if (waits_for_ == wait::turn)
    wake();
}

digest connection::digest_of(std::string_view key) {
  if (last_key_ != key) {
    last_digest_ = sha256(key);
    last_key_ = key;
  }
  return last_digest_;
}

} // namespace assay::http
