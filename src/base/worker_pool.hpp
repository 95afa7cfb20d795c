#pragma once
// A few threads that do what may block: HTTP errands, blobs. Actors hand work here and are told by
// message.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace assay {

class worker_pool {
public:
  explicit worker_pool(std::size_t threads);

  /// Work that has begun comes to its end; what waits is dropped.
  ~worker_pool();
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;

  /// From any thread; never blocks. Whoever hands in work bounds how much of it waits.
  void run(std::function<void()> work);

private:
  void loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

} // namespace assay
