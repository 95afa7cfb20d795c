// The event loop, and sockets on it, with descriptors of the test: what is told, when, and to whom.

#include "src/http/coroutine.hpp"
#include "src/http/event_loop.hpp"
#include "src/http/sockets.hpp"

#include <catch2/catch_test_macros.hpp>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>
#include <thread>
#include <vector>

using namespace assay;
using assay::http::event_loop;

namespace {

/// An eventfd, and how often something was told about it.
class bell : public event_loop::source {
public:
  explicit bell(event_loop& loop) : loop_{loop} {
    REQUIRE(loop_.add(descriptor_, *this, EPOLLIN | EPOLLET));
  }
  ~bell() {
    loop_.forget(*this);
    ::close(descriptor_);
  }

  void ring() { ::eventfd_write(descriptor_, 1); }

  std::vector<std::uint32_t> told;
  std::function<void()> then;

private:
  void on_ready(std::uint32_t events) override {
    told.push_back(events);
    if (then)
      then();
  }

  event_loop& loop_;
  int descriptor_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
};

/// One end of a pair, and how often it had news that nobody awaited; the test holds the other end.
class half final : public http::tcp_socket {
public:
  half(event_loop& loop, std::array<int, 2> ends) : tcp_socket{loop, ends[0]}, far_{ends[1]} {}
  ~half() { ::close(far_); }

  int far() const { return far_; }
  int news = 0;

private:
  void on_news() override { ++news; }
  int far_;
};

std::array<int, 2> pair_of_ends() {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0);
  return ends;
}

http::detached await(http::tcp_socket::readiness what, int& resumed) {
  co_await what;
  ++resumed;
}

/// What has happened already is told, and nothing is waited for.
void turn(event_loop& loop) {
  loop.turn(loop.now());
}

} // namespace

TEST_CASE("news is told once each time that it comes, read or not") {
  event_loop loop;
  bell b{loop};
  turn(loop);
  CHECK(b.told.empty());
  for (std::size_t i = 1; i <= 2; ++i) {
    b.ring();
    turn(loop);
    turn(loop);
    CHECK(b.told.size() == i);
  }
  CHECK(b.told[0] == EPOLLIN);
}

TEST_CASE("who asks to be told again waits for the others, and once more for the next turn") {
  event_loop loop;
  bell busy{loop};
  bell other{loop};
  std::vector<std::size_t> others;
  busy.then = [&] {
    others.push_back(other.told.size());
    loop.again(busy);
    loop.again(busy);
  };
  busy.ring();
  other.ring();
  turn(loop);
  CHECK(others == std::vector<std::size_t>{0, 1});
  CHECK(busy.told == std::vector<std::uint32_t>{EPOLLIN, 0});
  busy.then = {};
  turn(loop);
  CHECK(busy.told.size() == 3);
  turn(loop);
  CHECK(busy.told.size() == 3);
}

TEST_CASE("a source that another one forgets in the same turn is told nothing") {
  event_loop loop;
  bell first{loop};
  bell second{loop};
  first.then = [&] { loop.forget(second); };
  second.then = [&] { loop.forget(first); };
  first.ring();
  second.ring();
  loop.again(first);
  loop.again(second);
  turn(loop);
  CHECK(first.told.size() + second.told.size() == 2); // By epoll and again, one of them.
  CHECK((first.told.empty() || second.told.empty()));
}

TEST_CASE("what other threads post is run in the order of each, and ends the waiting") {
  event_loop loop;
  std::vector<int> ran;
  std::thread poster{[&] {
    for (int i = 0; i < 100; ++i)
      loop.post([&ran, i] { ran.push_back(i); });
  }};
  while (ran.size() < 100)
    loop.turn(loop.now() + std::chrono::minutes{1});
  poster.join();
  for (int i = 0; i < 100; ++i)
    CHECK(ran[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("a socket that is closed, even twice, resumes once who waits for it, and from the loop") {
  event_loop loop;
  int resumed = 0;
  half socket{loop, pair_of_ends()};
  await(socket.readable(), resumed);
  turn(loop);
  socket.close();
  socket.close();
  CHECK(resumed == 0);
  turn(loop);
  CHECK(resumed == 1);
  await(socket.writable(), resumed); // Waiting for a closed one is no wait for ever.
  turn(loop);
  CHECK(resumed == 2);
  CHECK(socket.news == 0);
}

TEST_CASE("a read that leaves nothing waits for news, one that may have left something does not") {
  event_loop loop;
  int resumed = 0;
  half socket{loop, pair_of_ends()};
  REQUIRE(::send(socket.far(), "abc", 3, 0) == 3);
  turn(loop);
  CHECK(socket.news == 1);
  char into[2];
  CHECK(socket.read(into, 2).bytes == 2);
  await(socket.readable(), resumed);
  turn(loop);
  CHECK(resumed == 1);
  CHECK(socket.read(into, 2).bytes == 1);
  CHECK_FALSE(socket.may_read());
  await(socket.readable(), resumed);
  turn(loop);
  CHECK(resumed == 1);
  ::shutdown(socket.far(), SHUT_WR);
  turn(loop);
  CHECK(resumed == 2);
  CHECK(socket.hung_up());
  CHECK(socket.read(into, 2).ended);
}

TEST_CASE("an end that comes with the last bytes is found after them") {
  event_loop loop;
  half socket{loop, pair_of_ends()};
  REQUIRE(::send(socket.far(), "a", 1, 0) == 1);
  ::shutdown(socket.far(), SHUT_WR);
  turn(loop);
  char into[8];
  CHECK(socket.read(into, sizeof into).bytes == 1);
  REQUIRE(socket.may_read());
  CHECK(socket.read(into, sizeof into).ended);
}

TEST_CASE("who waits to write is resumed by room, and the end that came with it is told too") {
  event_loop loop;
  int resumed = 0;
  half socket{loop, pair_of_ends()};
  std::string piece(1 << 16, 'x');
  http::transfer sent;
  do {
    http::parts p;
    p.add(piece);
    sent = p.send(socket);
  } while (sent.bytes == piece.size());
  turn(loop);
  await(socket.writable(), resumed);
  turn(loop);
  CHECK(resumed == 0);
  ::shutdown(socket.far(), SHUT_WR);
  while (::recv(socket.far(), piece.data(), piece.size(), 0) > 0)
    continue;
  turn(loop);
  CHECK(resumed == 1);
  turn(loop);
  CHECK(socket.news == 1);
}
