// The event loop on descriptors of the test: what is told, when, and to whom.

#include "src/http/event_loop.hpp"

#include <catch2/catch_test_macros.hpp>
#include <sys/eventfd.h>
#include <unistd.h>

#include <functional>
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
