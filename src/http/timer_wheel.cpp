#include "src/http/timer_wheel.hpp"

#include <algorithm>

namespace assay::http {

void timer_wheel::entry::unlink() {
  if (!back_)
    return;
  *back_ = next_;
  if (next_)
    next_->back_ = back_;
  next_ = nullptr;
  back_ = nullptr;
}

std::size_t timer_wheel::slot_of(steady_time t) const {
  auto ticks = t.time_since_epoch() / tick;
  return static_cast<std::size_t>(ticks) % slots;
}

void timer_wheel::watch(entry& e, steady_time due) {
  // Never into the slot that is being emptied, never a whole turn ahead.
  due = std::clamp(due, at_ + tick, at_ + tick * static_cast<long>(slots - 2));
  if (e.back_ && e.at_ <= due)
    return;
  e.unlink();
  e.at_ = due;
  auto& head = heads_[slot_of(due)];
  e.next_ = head;
  e.back_ = &head;
  if (head)
    head->back_ = &e.next_;
  head = &e;
}

void timer_wheel::advance(steady_time now) {
  auto turn = tick * static_cast<long>(slots);
  if (now - at_ > turn)
    at_ = now - turn;
  while (at_ + tick <= now) {
    auto& head = heads_[slot_of(at_)];
    at_ += tick;
    while (head) {
      auto& e = *head;
      e.unlink();
      if (auto again = e.on_time(now))
        watch(e, *again);
    }
  }
}

std::optional<steady_time> timer_wheel::next() const {
  for (std::size_t i = 0; i < slots; ++i) {
    auto t = at_ + tick * static_cast<long>(i);
    if (heads_[slot_of(t)])
      return t + tick;
  }
  return {};
}

} // namespace assay::http
