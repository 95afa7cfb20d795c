#include "src/app/leadership.hpp"

#include "src/app/proposing.hpp"
#include "src/base/log.hpp"
#include "src/base/peer_limits.hpp"

#include <pthread.h>

namespace assay::app {

leadership::~leadership() {
  {
    std::lock_guard hold{mutex_};
    is_ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable())
    thread_.join();
  if (leading_ != 0)
    hooks_.follow();
}

void leadership::begin() {
  thread_ = std::thread{[this] {
    ::pthread_setname_np(::pthread_self(), "leadership");
    run();
  }};
}

void leadership::nudge() {
  {
    std::lock_guard hold{mutex_};
    is_nudged_ = true;
  }
  changed_.notify_all();
}

void leadership::run() {
  for (;;) {
    {
      // A leader that is cut off learns it from silence alone, so nobody nudges.
      std::unique_lock hold{mutex_};
      changed_.wait_for(hold, limits::leadership_look, [this] { return is_nudged_ || is_ending_; });
      if (is_ending_)
        return;
      is_nudged_ = false;
    }
    pass();
  }
}

void leadership::pass() {
  auto now = engine_->status();
  auto term = now.is_leader ? now.term : 0;
  if (leading_ != 0 && term != leading_) {
    log::info("leads_no_more", {{"term", std::to_string(leading_)}});
    leading_ = 0;
    hooks_.follow();
  }
  if (term != leading_ && is_confirmed(term)) {
    log::info("leads", {{"term", std::to_string(term)}});
    leading_ = term;
    hooks_.lead(term);
  }
  hooks_.look(now);
}

bool leadership::is_confirmed(std::uint64_t term) const {
  if (!read_now(*engine_))
    return false;
  auto now = engine_->status();
  return now.is_leader && now.term == term;
}

} // namespace assay::app
