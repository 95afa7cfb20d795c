#include "src/http/lane.hpp"

#include "src/base/log.hpp"
#include "src/http/connection.hpp"
#include "src/http/reply.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <random>

namespace assay::http {

namespace {

constexpr auto sweep_every = std::chrono::seconds{1};
constexpr int accepts_per_turn = 64; ///< Those who are served already get their turn.

bool set_option(int descriptor, int option) {
  int on = 1;
  return ::setsockopt(descriptor, SOL_SOCKET, option, &on, sizeof on) == 0;
}

std::error_code last_error() {
  return {errno, std::system_category()};
}

std::uint64_t first_seed() {
  std::random_device source;
  return (std::uint64_t{source()} << 32) ^ source();
}

} // namespace

lane::lane(std::shared_ptr<ingress_common> common, unsigned number)
  : common_{std::move(common)}, number_{number}, ring{limits::decision_ring},
    upstreams{loop_, common_->options.limits.upstream_idle},
    wheel_{std::chrono::steady_clock::now()}, seed_{first_seed()} {}

lane::~lane() {
  stop_accepting();
}

std::error_code lane::listen(const asio::ip::tcp::endpoint& at, asio::ip::tcp::endpoint& to) {
  auto& socket = front_.descriptor;
  socket = ::socket(at.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  auto size = static_cast<socklen_t>(at.size());
  auto bound = socket >= 0 && set_option(socket, SO_REUSEADDR)
               && (common_->options.threads == 1 || set_option(socket, SO_REUSEPORT))
               && ::bind(socket, at.data(), size) == 0 && ::listen(socket, SOMAXCONN) == 0
               && ::getsockname(socket, to.data(), &size) == 0
               && loop_.add(socket, front_, EPOLLIN | EPOLLET);
  if (!bound)
    return last_error();
  to.resize(size);
  return {};
}

void lane::run() {
  sweep_due_ = now() + sweep_every;
  while (!draining_ || !connections_.empty()) {
    loop_.turn(next_due());
    on_time();
  }
  upstreams.clear();
  flush_outcomes();
}

steady_time lane::next_due() const {
  return std::min({wheel_due_, outcomes_due_, sweep_due_, accept_due_});
}

void lane::on_time() {
  auto t = now();
  if (t >= wheel_due_) {
    wheel_due_ = never;
    wheel_.advance(t);
    wheel_due_ = wheel_.next().value_or(never);
  }
  if (t >= outcomes_due_)
    flush_outcomes();
  if (t >= sweep_due_) {
    upstreams.sweep(t);
    if (number_ == 0)
      common_->bodies.pass(t);
    sweep_due_ = t + sweep_every;
  }
  if (t >= accept_due_)
    accept();
}

void lane::accept() {
  accept_due_ = never;
  for (int i = 0; i < accepts_per_turn && !draining_; ++i) {
    asio::ip::tcp::endpoint from;
    auto size = static_cast<socklen_t>(from.capacity());
    auto socket = ::accept4(front_.descriptor, from.data(), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) {
      from.resize(size);
      take(socket, from);
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED)
      continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK)
      return;
    // Out of descriptors, most likely: without a pause this would spin.
    log::warn("accept_failed", {{"error", last_error().message()}});
    accept_due_ = now() + limits::outcome_every;
    return;
  }
  if (!draining_)
    loop_.again(front_);
}

void lane::take(int descriptor, const asio::ip::tcp::endpoint& from) {
  count(common_->accepted);
  if (common_->open.load(std::memory_order_relaxed) >= common_->options.limits.connections) {
    auto text = write_refusal(
      {contract::failure::no_capacity, "too many connections are open; try again"}, {{}, false, 1}
    );
    ::send(descriptor, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    ::close(descriptor);
    return;
  }
  connection::start(std::make_shared<connection>(*this, descriptor, from.address().to_string()));
}

void lane::stop_accepting() {
  loop_.forget(front_);
  if (front_.descriptor >= 0)
    ::close(std::exchange(front_.descriptor, -1));
}

void lane::left(connection& c) {
  connections_.erase(&c);
}

void lane::drain() {
  draining_ = true;
  accept_due_ = sweep_due_ = never;
  stop_accepting();
  auto all = connections_;
  for (auto* c : all)
    if (connections_.contains(c))
      c->drain();
}

void lane::cut() {
  draining_ = true;
  auto all = connections_;
  for (auto* c : all)
    if (connections_.contains(c))
      c->cut();
}

void lane::watch(timer_wheel::entry& e, steady_time due) {
  wheel_.watch(e, due);
  wheel_due_ = std::min(wheel_due_, due + timer_wheel::tick);
}

void lane::report(routing::outcome o) {
  if (!common_->hooks.on_outcomes)
    return;
  if (outcomes_.empty())
    outcomes_.reserve(limits::outcome_batch);
  outcomes_.push_back(std::move(o));
  if (outcomes_.size() >= limits::outcome_batch)
    flush_outcomes();
  if (outcomes_.size() == 1)
    outcomes_due_ = now() + limits::outcome_every;
}

void lane::flush_outcomes() {
  outcomes_due_ = never;
  if (!outcomes_.empty() && common_->hooks.on_outcomes)
    common_->hooks.on_outcomes(std::exchange(outcomes_, {}));
}

decision_id lane::id_of(std::uint64_t position) const {
  // The last part says which thread's ring it is, too.
  const auto& options = common_->options;
  auto id = options.id.value;
  char digits[20];
  for (auto part : {options.boot, position * options.threads + number_}) {
    id += '-';
    id.append(digits, std::to_chars(digits, digits + sizeof digits, part).ptr);
  }
  return {std::move(id)};
}

std::uint64_t lane::random() {
  // splitmix64: spreads requests, keeps no secret.
  auto z = seed_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::string lane::new_request_id() {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string id;
  id.reserve(36);
  id = "req_";
  for (int half = 0; half < 2; ++half) {
    auto bits = random();
    for (int i = 0; i < 16; ++i, bits >>= 4)
      id += digits[bits & 15];
  }
  return id;
}

std::unique_ptr<char[]> lane::take_buffer() {
  // A little more than a power of two: buffers whose first lines share a cache set evict each
  // other.
  constexpr std::size_t colour_bytes = 5 * 64;
  if (buffers_.empty())
    return std::make_unique_for_overwrite<char[]>(limits::upstream_buffer_bytes + colour_bytes);
  auto buffer = std::move(buffers_.back());
  buffers_.pop_back();
  return buffer;
}

void lane::give_buffer(std::unique_ptr<char[]> buffer) {
  constexpr std::size_t kept = 256;
  if (buffer && buffers_.size() < kept)
    buffers_.push_back(std::move(buffer));
}

} // namespace assay::http
