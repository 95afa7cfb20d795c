#pragma once
// Watches whether this coordinator leads, and says when to begin and to end what only a leader
// does.
//
// To lead begins with a committed entry of one's own term: from then on the tables hold whatever
// any leader before acknowledged. It decides nothing else.

#include "src/store/ledger_engine.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace assay::app {

/// All are called by one thread at a time, and may block.
struct leadership_hooks {
  std::function<void(std::uint64_t term)> lead; ///< After it, `follow` comes before the next.
  std::function<void()> follow;                 ///< It leads no more.
  std::function<void(const store::engine_status&)> look; ///< At each pass, last.
};

class leadership {
public:
  leadership(store::ledger_engine& engine, leadership_hooks hooks)
    : engine_{&engine}, hooks_{std::move(hooks)} {}
  /// Ends the thread; `follow` comes once more if it led.
  ~leadership();

  /// One look, on the caller's thread, before `begin`.
  void pass();
  /// Goes on looking, on a thread of its own.
  void begin();
  /// Something may have changed. From any thread.
  void nudge();

private:
  void run();
  bool is_confirmed(std::uint64_t term) const;

  store::ledger_engine* engine_;
  leadership_hooks hooks_;
  std::uint64_t leading_ = 0; ///< The term; 0: it follows.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_nudged_ = false;
  bool is_ending_ = false;
  std::thread thread_;
};

} // namespace assay::app
