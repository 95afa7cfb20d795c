#pragma once
// The events of one thread: tells each source what has happened to its descriptor, and runs what
// other threads post.
//
// Edge-triggered epoll: a descriptor is registered once, and whoever remembers what it was told
// makes a system call only when there is something to do. (Asio tries each read before it waits for
// it, and a relay waits before nearly all of its reads.) Whoever leaves something undone asks to be
// told `again`, behind the others, so that no busy connection keeps them waiting. A source may
// end any source while it is told, itself included. Knows no sockets and no deadlines.

#include "src/base/clock.hpp"

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace assay::http {

class event_loop {
public:
  class source {
  public:
    source() = default;
    source(const source&) = delete;
    source& operator=(const source&) = delete;

    /// `events` as epoll says them; 0 when `again` was asked for. May destroy this source.
    virtual void on_ready(std::uint32_t events) = 0;

  protected:
    ~source() = default;

  private:
    friend class event_loop;
    bool again_ = false;
  };

  event_loop();
  ~event_loop();
  event_loop(const event_loop&) = delete;
  event_loop& operator=(const event_loop&) = delete;

  /// From any thread: `what` is run in a turn to come, or never if there is none.
  void post(std::function<void()> what);

  // -- this thread only ---------------------------------------------------------------------------

  /// Tells `s` of each of `events` at `descriptor`, once each time that it comes. False: the kernel
  /// has no room for it.
  bool add(int descriptor, source& s, std::uint32_t events);
  /// Nothing is told to `s` any more. Its descriptor is closed next, which ends the registration.
  void forget(source& s);
  /// Tells `s` once more, behind all that is to be told now.
  void again(source& s);

  /// Waits until something happens or it is `until`, and tells it.
  void turn(steady_time until);

  /// When the turn began: exact enough for limits, and free.
  steady_time now() const { return now_; }

private:
  struct inbox final : source {
    explicit inbox(event_loop& l) : loop{l} {}
    void on_ready(std::uint32_t) override { loop.run_posted(); }
    event_loop& loop;
  };

  int wait_ms(steady_time until) const;
  void tell_again();
  void run_posted();

  int epoll_ = -1;
  int wakes_ = -1; ///< An eventfd.
  std::array<epoll_event, 256> ready_{};
  std::size_t at_ = 0; ///< Of `ready_`, told already.
  std::size_t count_ = 0;
  std::vector<source*> again_; ///< Null: forgotten since.
  steady_time now_;
  inbox inbox_{*this};
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
};

} // namespace assay::http
