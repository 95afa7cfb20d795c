#pragma once
// What the connections of a service listener share: their places, and the memory of large bodies.
// Only src/http/service_listener.cpp includes it.

#include "src/base/limits.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace assay::http {

/// Bytes of large bodies and answers in memory, of all connections together.
class byte_budget {
public:
  explicit byte_budget(std::size_t most) : most_{most} {}

  /// A part of the budget, given back when it ends.
  class share {
  public:
    share() = default;
    share(byte_budget* of, std::size_t bytes) : of_{of}, bytes_{bytes} {}
    share(share&& other) noexcept : of_{std::exchange(other.of_, nullptr)}, bytes_{other.bytes_} {}
    share& operator=(share&& other) noexcept {
      std::swap(of_, other.of_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~share() {
      if (of_)
        of_->used_.fetch_sub(bytes_);
    }

  private:
    byte_budget* of_ = nullptr;
    std::size_t bytes_ = 0;
  };

  /// Nothing: it is spent. What is small is bounded by the number of connections.
  std::optional<share> take(std::uint64_t bytes) {
    if (bytes <= limits::service_small_bytes)
      return share{};
    if (bytes > most_)
      return {};
    if (used_.fetch_add(bytes) + bytes <= most_)
      return share{this, static_cast<std::size_t>(bytes)};
    used_.fetch_sub(bytes);
    return {};
  }

private:
  const std::size_t most_;
  std::atomic<std::size_t> used_ = 0;
};

/// Who is connected. When all places are taken, the one that has waited longest for its peer's next
/// request makes room, so that peers who say nothing keep nobody out.
template <class Stream>
class guest_list {
public:
  struct guest {
    boost::asio::any_io_executor strand; ///< Of everything that touches the socket.
    Stream* stream = nullptr;
    std::uint64_t waits_since = 0; ///< In the order of waiting; 0: it is being answered.
  };
  using place = std::shared_ptr<guest>;

  explicit guest_list(std::size_t most) : most_{most} {}

  /// Nothing: everybody is being answered.
  place admit(boost::asio::any_io_executor strand) {
    std::lock_guard guard{mutex_};
    if (guests_.size() >= most_ && !dismiss_one())
      return {};
    auto one = std::make_shared<guest>(guest{std::move(strand), nullptr, ++order_});
    guests_.insert(one);
    return one;
  }
  void leave(const place& one) {
    std::lock_guard guard{mutex_};
    one->stream = nullptr;
    guests_.erase(one);
  }
  /// False: it was dismissed meanwhile, and its request comes too late.
  bool note(const place& one, bool waits) {
    std::lock_guard guard{mutex_};
    one->waits_since = waits ? ++order_ : 0;
    return guests_.contains(one);
  }

  void forget_all() {
    std::lock_guard guard{mutex_};
    guests_.clear();
  }

private:
  bool dismiss_one() {
    place longest;
    for (const auto& one : guests_)
      if (one->waits_since != 0 && (!longest || one->waits_since < longest->waits_since))
        longest = one;
    if (!longest)
      return false;
    guests_.erase(longest);
    boost::asio::post(longest->strand, [longest] {
      if (longest->stream)
        longest->stream->close();
    });
    return true;
  }

  const std::size_t most_;
  std::mutex mutex_;
  std::uint64_t order_ = 0;
  std::set<place> guests_;
};

} // namespace assay::http
