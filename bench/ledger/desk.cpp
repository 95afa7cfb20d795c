#include "bench/ledger/desk.hpp"

#include "bench/ledger/frame.hpp"
#include "bench/relay/sockets.hpp"
#include "src/wire/record_codec.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <set>

namespace assay::bench {

namespace {

const ledger::author asker{"bench", ledger::authentication::socket};

std::string proposal_of(std::uint32_t client, std::string_view text) {
  catalog::suite_document suite;
  suite.name = {"bench-" + std::to_string(client % names)};
  suite.text = text;
  suite.sha256 = sha256(text);
  return wire::encode_proposal(ledger::make_record(ledger::declared{std::move(suite)}, asker));
}

} // namespace

desk::desk(store::ledger_engine& engine) : engine_{engine} {
  listener_ = listen_anywhere(port_);
  loop_ = ::epoll_create1(EPOLL_CLOEXEC);
  wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  watch(listener_, EPOLLIN);
  watch(wake_, EPOLLIN);
  thread_ = std::thread{[this] { run(); }};
}

desk::~desk() {
  stop();
}

void desk::stop() {
  is_ending_ = true;
  ::eventfd_write(wake_, 1);
  if (thread_.joinable())
    thread_.join();
}

void desk::watch(int socket, std::uint32_t events) {
  epoll_event wanted{events, {.fd = socket}};
  if (::epoll_ctl(loop_, EPOLL_CTL_ADD, socket, &wanted) != 0)
    ::epoll_ctl(loop_, EPOLL_CTL_MOD, socket, &wanted);
}

void desk::run() {
  ::pthread_setname_np(::pthread_self(), "desk");
  std::vector<epoll_event> ready(512);
  while (!is_ending_) {
    auto count = ::epoll_wait(loop_, ready.data(), static_cast<int>(ready.size()), -1);
    for (int i = 0; i < count; ++i) {
      const auto& one = ready[static_cast<std::size_t>(i)];
      if (one.data.fd == listener_)
        accept_all();
      else if (one.data.fd == wake_)
        deliver();
      else if (one.events & EPOLLOUT)
        write(one.data.fd);
      else
        hear(one.data.fd);
    }
  }
}

void desk::accept_all() {
  for (;;) {
    int socket = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0)
      return;
    send_at_once(socket);
    connections_[socket] = {};
    watch(socket, EPOLLIN);
  }
}

void desk::hear(int socket) {
  auto& in = connections_.at(socket).in;
  char piece[65'536];
  auto got = ::recv(socket, piece, sizeof piece, 0);
  if (got < 0 && errno == EAGAIN)
    return;
  if (got <= 0) { // The number stays taken, so that no late answer goes to somebody else.
    ::epoll_ctl(loop_, EPOLL_CTL_DEL, socket, nullptr);
    ::shutdown(socket, SHUT_RDWR);
    return;
  }
  in.append(piece, static_cast<std::size_t>(got));
  in.erase(0, obey_all(socket, in));
}

/// How many bytes were whole questions.
std::size_t desk::obey_all(int socket, std::string_view heard) {
  std::size_t done = 0;
  question asked;
  for (auto rest = heard; take(rest, asked) && rest.size() >= asked.bytes;) {
    obey(socket, asked.client, rest.substr(0, asked.bytes));
    rest.remove_prefix(asked.bytes);
    done = heard.size() - rest.size();
  }
  return done;
}

void desk::obey(int socket, std::uint32_t client, std::string_view text) {
  if (text.empty())
    return answer({socket, client, engine_.status().is_leader});
  engine_.propose({proposal_of(client, text)}, [this, socket, client](const store::answer& said) {
    answer({socket, client, said.has_value()});
  });
}

void desk::answer(const answered& what) {
  bool is_first = false;
  {
    std::lock_guard hold{mutex_};
    is_first = answers_.empty();
    answers_.push_back(what);
  }
  if (is_first)
    ::eventfd_write(wake_, 1);
}

void desk::deliver() {
  eventfd_t ignored = 0;
  ::eventfd_read(wake_, &ignored);
  std::vector<answered> all;
  {
    std::lock_guard hold{mutex_};
    all.swap(answers_);
  }
  std::set<int> sockets;
  for (const auto& one : all) {
    append(connections_.at(one.socket).out, reply{one.client, one.is_yes ? 1U : 0U});
    sockets.insert(one.socket);
  }
  for (auto socket : sockets)
    write(socket);
}

void desk::write(int socket) {
  auto& to = connections_.at(socket);
  auto sent = ::send(socket, to.out.data(), to.out.size(), MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN)
    return to.out.clear(); // The client is gone; it counts what it did not get.
  to.out.erase(0, static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
  if (to.is_blocked == !to.out.empty())
    return;
  to.is_blocked = !to.out.empty();
  watch(socket, to.is_blocked ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

} // namespace assay::bench
