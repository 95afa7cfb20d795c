#pragma once
// Signs of life of one endpoint, from the requests that this ingress has there.
//
// HTTP threads write, the INGRESS actor reads; nothing here decides what silence means. What a
// request is expected to take before its first sign is owed by the endpoint from the moment it has
// the whole request until that sign, or the request's end.

#include "src/base/clock.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>

namespace assay::pool {

/// One look.
struct vital_signs {
  std::uint32_t waiting = 0;        ///< Requests sent, of which no content has come.
  std::uint32_t streaming = 0;      ///< Streams whose content has begun.
  std::chrono::microseconds owed{}; ///< Expected of the waiting ones, one after the other.
  steady_time moved{};              ///< Last content or end of an answer; when it began to be
                                    ///< busy, if that was later.
  bool is_busy() const { return waiting + streaming > 0; }
};

class pulse {
public:
  vital_signs look() const;

private:
  friend class request_at;

  std::atomic<std::uint32_t> waiting_{0};
  std::atomic<std::uint32_t> streaming_{0};
  std::atomic<std::int64_t> owed_us_{0};
  std::atomic<std::int64_t> moved_ns_{0};
};

/// One request at an endpoint, from its sending on. Whatever ends it, the destructor takes it out
/// of the endpoint's signs exactly once. Move-only; empty after a move or `leave`.
class request_at {
public:
  request_at() = default;
  /// `p` must outlive it. `expected`: until the first sign, by what was learnt of the endpoint.
  request_at(pulse& p, std::chrono::microseconds expected, steady_time now);
  request_at(request_at&& other) noexcept;
  request_at& operator=(request_at&& other) noexcept;
  ~request_at() { leave(); }

  /// Content has come, or the answer's end.
  void moved(steady_time now);

  /// It is over, without a word on how.
  void leave();

private:
  pulse* pulse_ = nullptr;
  std::int64_t owed_us_ = 0;
  bool streams_ = false;
};

} // namespace assay::pool
