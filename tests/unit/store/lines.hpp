#pragma once
// Engines of one process as coordinators of one group: lines between them that keep the order, lose
// nothing until they are cut, and say when anything happened.

#include "src/store/ledger_engine.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <variant>

namespace assay::store::test {

/// Delivers on a thread of its own. Cut a member off before its engine goes.
class lines {
public:
  lines() : thread_{[this] { run(); }} {}
  ~lines() {
    {
      std::lock_guard hold{mutex_};
      is_ending_ = true;
    }
    more_.notify_all();
    thread_.join();
  }

  /// The sender of one member; it lives as long as the lines.
  peer_sender* from(std::uint64_t id) {
    std::lock_guard hold{mutex_};
    auto& door = doors_[id];
    if (!door)
      door = std::make_unique<sender>(*this);
    return door.get();
  }

  void connect(std::uint64_t id, ledger_engine& engine) {
    std::lock_guard hold{delivery_};
    engines_[id] = &engine;
  }
  void cut(std::uint64_t id) {
    std::lock_guard hold{delivery_};
    engines_.erase(id);
  }

  void something_happened() {
    { std::lock_guard hold{mutex_}; }
    more_.notify_all();
  }

  /// Looks again whenever a message arrived or a view was published, and once in a while for what
  /// nobody tells: a member that notices by itself that it no longer leads.
  template <class Condition>
  void wait_until(Condition is_so) {
    std::unique_lock hold{mutex_};
    while (!is_so())
      more_.wait_for(hold, std::chrono::milliseconds{20});
  }

  /// Of every page that goes over the lines from now on; false: it is lost.
  void inspect_pages(std::function<bool(state_page&)> by) {
    std::lock_guard hold{delivery_};
    inspect_ = std::move(by);
  }

private:
  using parcel = std::variant<consensus::message, state_request, state_page>;

  struct sender : peer_sender {
    explicit sender(lines& over) : over_{over} {}
    void send(consensus::message what) override { over_.carry(std::move(what)); }
    void send(state_request what) override { over_.carry(std::move(what)); }
    void send(state_page what) override { over_.carry(std::move(what)); }
    lines& over_;
  };

  void carry(parcel what) {
    {
      std::lock_guard hold{mutex_};
      queue_.push_back(std::move(what));
    }
    more_.notify_all();
  }

  void run() {
    std::unique_lock hold{mutex_};
    for (;;) {
      more_.wait(hold, [&] { return is_ending_ || !queue_.empty(); });
      if (is_ending_)
        return;
      auto what = std::move(queue_.front());
      queue_.pop_front();
      hold.unlock();
      deliver(std::move(what));
      something_happened();
      hold.lock();
    }
  }

  void deliver(parcel what) {
    std::lock_guard hold{delivery_};
    std::visit(
      [this](auto& one) {
        auto to = engines_.find(one.to);
        if (to == engines_.end() || !engines_.contains(one.from))
          return;
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, state_page>)
          if (inspect_ && !inspect_(one))
            return;
        to->second->receive(std::move(one));
      },
      what
    );
  }

  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<parcel> queue_;
  std::map<std::uint64_t, std::unique_ptr<sender>> doors_;
  bool is_ending_ = false;
  std::mutex delivery_; ///< Held while an engine is called: a cut line is silent at once.
  std::map<std::uint64_t, ledger_engine*> engines_;
  std::function<bool(state_page&)> inspect_;
  std::thread thread_;
};

} // namespace assay::store::test
