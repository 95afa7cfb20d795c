#include "src/base/worker_pool.hpp"

namespace assay {

worker_pool::worker_pool(std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i)
    threads_.emplace_back([this] { loop(); });
}

worker_pool::~worker_pool() {
  {
    std::scoped_lock lock{mutex_};
    closing_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  for (auto& thread : threads_)
    thread.join();
}

void worker_pool::run(std::function<void()> work) {
  {
    std::scoped_lock lock{mutex_};
    if (closing_)
      return;
    waiting_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void worker_pool::loop() {
  while (true) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
    if (closing_)
      return;
    auto work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
  }
}

} // namespace assay
