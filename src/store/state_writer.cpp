#include "src/store/state_writer.hpp"

#include "src/base/check.hpp"

#include <pthread.h>

namespace assay::store {

state_writer::state_writer(state_store& state, done on_done)
  : state_{state}, on_done_{std::move(on_done)} {}

state_writer::~state_writer() {
  stop();
}

void state_writer::start() {
  thread_ = std::thread{[this] { run(); }};
  ::pthread_setname_np(thread_.native_handle(), "state writer");
}

void state_writer::begin(
  const state_store::row_changes& rows, std::uint64_t index, std::uint64_t term
) {
  {
    std::lock_guard hold{mutex_};
    check(!next_, "one set of rows is committed at a time");
    next_ = order{&rows, index, term};
  }
  more_.notify_one();
}

void state_writer::stop() {
  if (!thread_.joinable())
    return;
  {
    std::lock_guard hold{mutex_};
    is_stopping_ = true;
  }
  more_.notify_one();
  thread_.join();
}

void state_writer::run() {
  for (;;) {
    order now;
    {
      std::unique_lock hold{mutex_};
      more_.wait(hold, [this] { return is_stopping_ || next_; });
      if (!next_)
        return;
      now = *std::exchange(next_, {});
    }
    const auto begun = std::chrono::steady_clock::now();
    auto failed = state_.write(*now.rows, now.index, now.term);
    on_done_({std::move(failed), std::chrono::steady_clock::now() - begun});
  }
}

} // namespace assay::store
