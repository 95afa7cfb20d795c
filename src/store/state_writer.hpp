#pragma once
// The thread that commits rows to the state environment, one set at a time, while the applier goes
// on with the next one.
//
// It decides nothing: which rows belong together, and what a failure means, is the applier's to
// say.

#include "src/store/state_store.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

namespace assay::store {

class state_writer {
public:
  struct outcome {
    std::optional<write_failure> failed;
    std::chrono::steady_clock::duration took{};
  };
  using done = std::function<void(outcome)>;

  /// `on_done` is called on this thread behind each commit.
  state_writer(state_store& state, done on_done);

  void start();
  /// The rows stay as they are, and nobody else writes to the state environment, until `on_done`
  /// was called for them.
  void begin(const state_store::row_changes& rows, std::uint64_t index, std::uint64_t term);
  /// Ends the thread behind what was begun.
  void stop();

private:
  struct order {
    const state_store::row_changes* rows;
    std::uint64_t index, term;
  };

  void run(const std::stop_token& ending);

  state_store& state_;
  const done on_done_;
  std::mutex mutex_;
  std::condition_variable_any more_;
  std::optional<order> next_;
  std::jthread thread_; ///< The last member: it ends before what it uses.
};

} // namespace assay::store
