#pragma once
// A few threads for what blocks: probes, checks of artifacts, launches. Work is done in the order
// it came; what is still waiting at the end is dropped, what runs is waited for.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace assay::agent {

class work_pool {
public:
  explicit work_pool(std::size_t threads);
  ~work_pool();
  work_pool(const work_pool&) = delete;
  work_pool& operator=(const work_pool&) = delete;

  void post(std::function<void()> work);

  /// Takes no more work and drops what waits; true when what runs came to its end in time.
  bool finish(std::chrono::milliseconds patience);

private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  std::condition_variable idle_;
  bool ending_ = false;
  std::size_t running_ = 0;
  std::vector<std::jthread> threads_;
};

} // namespace assay::agent
