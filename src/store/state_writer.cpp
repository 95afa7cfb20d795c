#include "src/store/state_writer.hpp"

#include "src/base/check.hpp"

#include <pthread.h>

namespace assay::store {

state_writer::state_writer(state_store& state, done on_done)
  : state_{state}, on_done_{std::move(on_done)} {}

void state_writer::start() {
  thread_ = std::jthread{[this](const std::stop_token& ending) { run(ending); }};
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
  thread_ = {}; // Asks it to end, and waits.
}

void state_writer::run(const std::stop_token& ending) {
  for (;;) {
    order now;
    {
      std::unique_lock hold{mutex_};
      if (!more_.wait(hold, ending, [this] { return next_.has_value(); }))
        return;
      now = *std::exchange(next_, {});
    }
    const auto begun = std::chrono::steady_clock::now();
    auto failed = state_.write(*now.rows, now.index, now.term);
    on_done_({std::move(failed), std::chrono::steady_clock::now() - begun});
  }
}

} // namespace assay::store
