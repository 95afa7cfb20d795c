#pragma once
// Memory for request bodies: one budget for all threads of an ingress, small bodies included, taken
// before a byte of the body is read.
//
// Who finds no room is told when there is likely to be some, by how fast bodies have been let go of
// lately.

#include "src/base/clock.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace assay::http {

class body_room {
public:
  explicit body_room(std::size_t most) : most_{most} {}

  std::size_t most() const { return most_; }
  std::size_t held() const { return held_.load(std::memory_order_relaxed); }

  /// Until `bytes` more are likely to fit; `limits::retry_after_default` when nothing is let go of,
  /// at most `limits::retry_after_max`.
  std::chrono::seconds wait_for(std::size_t bytes) const;

  /// Measures; called about once a second by one thread.
  void pass(steady_time now);

private:
  friend class body_budget;

  bool take(std::size_t bytes);
  void give(std::size_t bytes);

  std::size_t most_;
  std::atomic<std::size_t> held_{0};
  std::atomic<std::uint64_t> given_{0}; ///< Since the start.
  std::atomic<double> rate_{0};         ///< Bytes that are given back in a second.
  std::uint64_t seen_ = 0;              ///< Of `given_`, at the last pass.
  steady_time passed_{};
};

/// One request's part of it, given back by the destructor.
class body_budget {
public:
  explicit body_budget(body_room& room) : room_{room} {}
  body_budget(const body_budget&) = delete;
  body_budget& operator=(const body_budget&) = delete;
  ~body_budget() { release(); }

  /// Holds at least `bytes` in all from now on. False, and nothing changes, when there is no room.
  bool hold(std::size_t bytes);
  void release();

  std::size_t held() const { return held_; }

private:
  body_room& room_;
  std::size_t held_ = 0;
};

} // namespace assay::http
