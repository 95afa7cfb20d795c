#include "node-agent/host/work_pool.hpp"

#include <utility>

namespace assay::agent {

work_pool::work_pool(std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i)
    threads_.emplace_back([this] { run(); });
}

work_pool::~work_pool() {
  finish({});
}

bool work_pool::finish(std::chrono::milliseconds patience) {
  std::unique_lock guard{mutex_};
  ending_ = true;
  // What waits may hold the last handle of an actor; that goes outside the lock.
  auto dropped = std::exchange(waiting_, {});
  wake_.notify_all();
  auto done = idle_.wait_for(guard, patience, [this] { return running_ == 0; });
  guard.unlock();
  return done;
}

void work_pool::post(std::function<void()> work) {
  {
    std::lock_guard guard{mutex_};
    if (ending_)
      return;
    waiting_.push_back(std::move(work));
  }
  wake_.notify_one();
}

void work_pool::run() {
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock guard{mutex_};
      wake_.wait(guard, [this] { return ending_ || !waiting_.empty(); });
      if (ending_)
        return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
      ++running_;
    }
    work();
    work = {}; // What it holds ends before the pool counts as idle.
    std::lock_guard guard{mutex_};
    --running_;
    idle_.notify_all();
  }
}

} // namespace assay::agent
