#include "src/http/event_loop.hpp"

#include "src/base/check.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace assay::http {

event_loop::event_loop()
  : epoll_{::epoll_create1(EPOLL_CLOEXEC)}, wakes_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)},
    now_{std::chrono::steady_clock::now()} {
  check(epoll_ >= 0 && wakes_ >= 0, "no descriptors are left for an HTTP thread");
  check(add(wakes_, inbox_, EPOLLIN | EPOLLET), "an HTTP thread can be woken");
}

event_loop::~event_loop() {
  ::close(wakes_);
  ::close(epoll_);
}

void event_loop::post(std::function<void()> what) {
  bool first = false;
  {
    std::lock_guard hold{mutex_};
    first = posted_.empty();
    posted_.push_back(std::move(what));
  }
  // Whoever posted first has woken the thread for all.
  if (first)
    ::eventfd_write(wakes_, 1);
}

bool event_loop::add(int descriptor, source& s, std::uint32_t events) {
  epoll_event wanted{};
  wanted.events = events;
  wanted.data.ptr = &s;
  return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &wanted) == 0;
}

void event_loop::forget(source& s) {
  for (auto i = at_; i < count_; ++i)
    if (ready_[i].data.ptr == &s)
      ready_[i].data.ptr = nullptr;
  if (!std::exchange(s.again_, false))
    return;
  std::replace(again_.begin(), again_.end(), &s, static_cast<source*>(nullptr));
}

void event_loop::again(source& s) {
  if (!std::exchange(s.again_, true))
    again_.push_back(&s);
}

void event_loop::turn(steady_time until) {
  auto count = ::epoll_wait(epoll_, ready_.data(), static_cast<int>(ready_.size()), wait_ms(until));
  now_ = std::chrono::steady_clock::now();
  count_ = count > 0 ? static_cast<std::size_t>(count) : 0; // A signal is no event.
  for (at_ = 0; at_ < count_;) {
    auto event = ready_[at_++];
    if (event.data.ptr)
      static_cast<source*>(event.data.ptr)->on_ready(event.events);
  }
  at_ = count_ = 0;
  tell_again();
}

/// What is asked for meanwhile waits for the next turn.
void event_loop::tell_again() {
  auto size = again_.size();
  for (std::size_t i = 0; i < size; ++i) {
    auto* s = std::exchange(again_[i], nullptr);
    if (!s)
      continue;
    s->again_ = false;
    s->on_ready(0);
  }
  again_.erase(again_.begin(), again_.begin() + static_cast<std::ptrdiff_t>(size));
}

void event_loop::run_posted() {
  eventfd_t ignored = 0;
  ::eventfd_read(wakes_, &ignored);
  std::vector<std::function<void()>> posted;
  {
    std::lock_guard hold{mutex_};
    posted.swap(posted_);
  }
  for (const auto& what : posted)
    what();
}

/// Rounded up: waking before the time would only mean to wait again.
int event_loop::wait_ms(steady_time until) const {
  if (!again_.empty())
    return 0;
  auto now = std::chrono::steady_clock::now();
  if (until - now > std::chrono::minutes{1})
    return 60'000;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now);
  return static_cast<int>(std::max<long>(left.count(), 0));
}

} // namespace assay::http
