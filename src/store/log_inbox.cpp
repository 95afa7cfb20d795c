#include "src/store/log_inbox.hpp"

#include "src/base/limits.hpp"

namespace assay::store {

namespace {

/// Of messages that wait while a batch is being synced. A slow disk must not fill the memory.
constexpr std::size_t messages_bytes_max = 64 << 20;
constexpr std::size_t pages_max = 4; ///< One is asked for at a time; others are late.

std::size_t size_of(const consensus::message& what) {
  std::size_t bytes = 256;
  if (const auto* probe = std::get_if<consensus::append_entries>(&what.body))
    for (const auto& e : probe->entries)
      bytes += sizeof e + e.bytes.size();
  return bytes;
}

} // namespace

template <class Queue, class T>
bool log_inbox::put_into(Queue& queue, T& what) {
  {
    std::lock_guard hold{mutex_};
    if (is_closed_)
      return false;
    queue.push_back(std::move(what));
  }
  more_.notify_one();
  return true;
}

bool log_inbox::put(waiting_proposal& one) {
  bool is_wanted = false;
  {
    std::lock_guard hold{mutex_};
    if (is_closed_)
      return false;
    proposals_.push_back(std::move(one));
    is_wanted = has_batch();
  }
  if (is_wanted)
    more_.notify_one();
  return true;
}

bool log_inbox::has_batch() const {
  return proposals_.size() >= least_;
}

bool log_inbox::put(ledger_engine::viewed& reader) {
  return put_into(waiting_.readers, reader);
}

bool log_inbox::put(order& one) {
  return put_into(waiting_.orders, one);
}

void log_inbox::put(consensus::message what) {
  const auto bytes = size_of(what);
  {
    std::lock_guard hold{mutex_};
    if (is_closed_ || messages_bytes_ + bytes > messages_bytes_max)
      return;
    messages_bytes_ += bytes;
    waiting_.messages.push_back(std::move(what));
  }
  more_.notify_one();
}

void log_inbox::put(state_page what) {
  {
    std::lock_guard hold{mutex_};
    if (is_closed_ || waiting_.pages.size() >= pages_max)
      return;
    waiting_.pages.push_back(std::move(what));
  }
  more_.notify_one();
}

void log_inbox::put(page_fate what) {
  {
    std::lock_guard hold{mutex_};
    waiting_.fates.push_back(what);
  }
  more_.notify_one();
}

void log_inbox::accept_clock() {
  {
    std::lock_guard hold{mutex_};
    waiting_.is_clock_accepted = true;
  }
  more_.notify_one();
}

void log_inbox::nudge() {
  {
    std::lock_guard hold{mutex_};
    is_nudged_ = true;
  }
  more_.notify_one();
}

log_inbox::contents log_inbox::take(
  std::chrono::steady_clock::time_point until, const std::function<std::size_t()>& least
) {
  std::unique_lock hold{mutex_};
  more_.wait_until(hold, until, [&] {
    least_ = least();
    return is_closed_ || is_nudged_ || !waiting_.is_empty() || has_batch();
  });
  is_nudged_ = false;
  if (is_closed_)
    return {};
  auto out = std::exchange(waiting_, {});
  messages_bytes_ = 0;
  least_ = least();
  if (has_batch())
    take_batch(out);
  return out;
}

void log_inbox::take_batch(contents& into) {
  std::size_t bytes = 0;
  while (!proposals_.empty() && into.proposals.size() < limits::batch_entries) {
    bytes += proposals_.front().what.bytes.size();
    if (bytes > limits::batch_bytes)
      return;
    into.proposals.push_back(std::move(proposals_.front()));
    proposals_.pop_front();
  }
}

void log_inbox::close() {
  {
    std::lock_guard hold{mutex_};
    is_closed_ = true;
  }
  more_.notify_one();
}

bool log_inbox::is_closed() const {
  std::lock_guard hold{mutex_};
  return is_closed_;
}

std::size_t log_inbox::waiting() const {
  std::lock_guard hold{mutex_};
  return proposals_.size();
}

log_inbox::contents log_inbox::leftovers() {
  std::lock_guard hold{mutex_};
  auto out = std::exchange(waiting_, {});
  for (auto& one : std::exchange(proposals_, {}))
    out.proposals.push_back(std::move(one));
  return out;
}

} // namespace assay::store
