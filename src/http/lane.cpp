#include "src/http/lane.hpp"

#include "src/base/log.hpp"
#include "src/http/connection.hpp"
#include "src/http/reply.hpp"

#include <charconv>
#include <random>

namespace assay::http {

namespace {

using reuse_port = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

std::uint64_t first_seed() {
  std::random_device source;
  return (std::uint64_t{source()} << 32) ^ source();
}

} // namespace

bool body_budget::hold(std::size_t bytes) {
  if (bytes <= held_)
    return true;
  auto more = bytes - held_;
  auto before = common_.buffered_bytes.fetch_add(more, std::memory_order_relaxed);
  if (before + more > common_.options.limits.bodies_bytes) {
    common_.buffered_bytes.fetch_sub(more, std::memory_order_relaxed);
    return false;
  }
  held_ = bytes;
  return true;
}

void body_budget::release() {
  common_.buffered_bytes.fetch_sub(held_, std::memory_order_relaxed);
  held_ = 0;
}

lane::lane(std::shared_ptr<ingress_common> common, unsigned number)
  : common_{std::move(common)}, number_{number}, ring{limits::decision_ring},
    upstreams{io_, common_->options.limits.upstream_idle}, work_{io_.get_executor()},
    acceptor_{io_.get_executor()}, accept_pause_{io_}, wheel_timer_{io_}, outcome_timer_{io_},
    sweep_timer_{io_}, wheel_{std::chrono::steady_clock::now()}, seed_{first_seed()} {}

lane::~lane() = default;

error_code lane::listen(const asio::ip::tcp::endpoint& at, asio::ip::tcp::endpoint& to) {
  error_code error;
  acceptor_.open(at.protocol(), error);
  if (!error)
    acceptor_.set_option(asio::socket_base::reuse_address{true}, error);
  if (!error && common_->options.threads > 1)
    acceptor_.set_option(reuse_port{true}, error);
  if (!error)
    acceptor_.bind(at, error);
  if (!error)
    acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (!error)
    to = acceptor_.local_endpoint(error);
  return error;
}

void lane::run() {
  accept();
  sweep_later();
  io_.run();
  flush_outcomes();
}

void lane::accept() {
  acceptor_.async_accept([this](error_code error, tcp_socket socket) {
    if (draining_ || error == asio::error::operation_aborted)
      return;
    if (!error) {
      take(std::move(socket));
      accept();
      return;
    }
    // Out of descriptors, most likely: without a pause this would spin.
    log::warn("accept_failed", {{"error", error.message()}});
    accept_pause_.expires_after(limits::outcome_every);
    accept_pause_.async_wait([this](error_code stopped) {
      if (!stopped)
        accept();
    });
  });
}

void lane::take(tcp_socket socket) {
  error_code ignored; // A connection that is dead already is noticed at its first read.
  socket.set_option(asio::ip::tcp::no_delay{true}, ignored);
  socket.non_blocking(true, ignored);
  count(common_->accepted);
  if (common_->open.load(std::memory_order_relaxed) >= common_->options.limits.connections) {
    auto text = write_refusal(
      {contract::failure::no_capacity, "too many connections are open; try again"}, {{}, false, 1}
    );
    parts all;
    all.add(text);
    all.send(socket);
    close_quietly(socket);
    return;
  }
  auto peer = socket.remote_endpoint(ignored).address().to_string(ignored);
  connection::start(std::make_shared<connection>(*this, std::move(socket), std::move(peer)));
}

void lane::left(connection& c) {
  connections_.erase(&c);
  end_if_empty();
}

void lane::drain() {
  draining_ = true;
  error_code ignored;
  acceptor_.close(ignored);
  accept_pause_.cancel();
  sweep_timer_.cancel();
  auto all = connections_;
  for (auto* c : all)
    if (connections_.contains(c))
      c->drain();
  end_if_empty();
}

void lane::cut() {
  draining_ = true;
  while (!connections_.empty()) {
    auto* c = *connections_.begin();
    connections_.erase(connections_.begin());
    c->cut();
  }
}

void lane::end_if_empty() {
  if (!draining_ || !connections_.empty())
    return;
  work_.reset();
  wheel_timer_.cancel();
  outcome_timer_.cancel();
  upstreams.clear();
}

void lane::watch(timer_wheel::entry& e, steady_time due) {
  wheel_.watch(e, due);
  if (!wheel_armed_ || due + timer_wheel::tick < *wheel_armed_)
    arm_wheel();
}

void lane::arm_wheel() {
  auto next = wheel_.next();
  wheel_armed_ = next;
  if (!next)
    return;
  wheel_timer_.expires_at(*next);
  wheel_timer_.async_wait([this](error_code stopped) {
    if (stopped)
      return;
    wheel_armed_ = steady_time::min(); // Nobody needs to arm it while it turns.
    wheel_.advance(std::chrono::steady_clock::now());
    arm_wheel();
  });
}

void lane::report(routing::outcome o) {
  if (!common_->hooks.on_outcomes)
    return;
  if (outcomes_.empty())
    outcomes_.reserve(limits::outcome_batch);
  outcomes_.push_back(std::move(o));
  if (outcomes_.size() >= limits::outcome_batch)
    flush_outcomes();
  if (outcomes_.size() != 1)
    return;
  outcome_timer_.expires_after(limits::outcome_every);
  outcome_timer_.async_wait([this](error_code stopped) {
    if (!stopped)
      flush_outcomes();
  });
}

void lane::flush_outcomes() {
  if (!outcomes_.empty() && common_->hooks.on_outcomes)
    common_->hooks.on_outcomes(std::exchange(outcomes_, {}));
}

void lane::sweep_later() {
  sweep_timer_.expires_after(std::chrono::seconds{1});
  sweep_timer_.async_wait([this](error_code stopped) {
    if (stopped || draining_)
      return;
    upstreams.sweep(std::chrono::steady_clock::now());
    sweep_later();
  });
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
  std::string id = "req_";
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
