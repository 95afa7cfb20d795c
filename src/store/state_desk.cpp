#include "src/store/state_desk.hpp"

#include "src/base/log.hpp"

#include <pthread.h>

namespace assay::store {

namespace {

constexpr auto session_idle = std::chrono::seconds{20};
constexpr std::size_t requests_waiting = 64;

} // namespace

state_desk::state_desk(const state_store& state, peer_sender& peers)
  : state_{state}, peers_{peers}, thread_{[this] { run(); }} {
  ::pthread_setname_np(thread_.native_handle(), "state desk");
}

state_desk::~state_desk() {
  {
    std::lock_guard hold{mutex_};
    is_stopping_ = true;
  }
  more_.notify_one();
  thread_.join();
}

void state_desk::ask(state_request what) {
  {
    std::lock_guard hold{mutex_};
    if (queue_.size() >= requests_waiting)
      return;
    queue_.push_back(std::move(what));
  }
  more_.notify_one();
}

void state_desk::run() {
  for (;;) {
    auto what = next();
    {
      std::lock_guard hold{mutex_};
      if (is_stopping_)
        return;
    }
    if (what)
      peers_.send(serve(*what));
    forget_idle();
  }
}

std::optional<state_request> state_desk::next() {
  std::unique_lock hold{mutex_};
  auto is_ready = [this] { return is_stopping_ || !queue_.empty(); };
  if (sessions_.empty())
    more_.wait(hold, is_ready);
  else
    more_.wait_for(hold, session_idle, is_ready);
  if (is_stopping_ || queue_.empty())
    return {};
  auto out = std::move(queue_.front());
  queue_.pop_front();
  return out;
}

state_page state_desk::serve(const state_request& what) {
  auto& of = sessions_[what.from];
  of.asked_at = std::chrono::steady_clock::now();
  bool is_new = what.after.empty() && of.attempt != what.attempt;
  bool is_known = is_new ? open(of, what) : of.attempt == what.attempt;
  if (is_known && turn_page(of, what))
    return of.newest;
  sessions_.erase(what.from);
  state_page refused;
  refused.from = what.to;
  refused.to = what.from;
  refused.attempt = what.attempt;
  refused.after = what.after;
  refused.is_refused = true;
  return refused;
}

bool state_desk::open(session& into, const state_request& what) {
  const auto asked_at = into.asked_at;
  into = {};
  into.attempt = what.attempt;
  into.asked_at = asked_at;
  auto at = state_.copy_of_now();
  if (!at) {
    log::warn("a member's state cannot be read for another", {{"why", to_text(at.error())}});
    return false;
  }
  into.at = *std::move(at);
  return into.at->index() >= what.at_least;
}

/// Makes the page that was asked for the newest one: the one behind it, or that one again.
bool state_desk::turn_page(session& of, const state_request& what) {
  if (of.has_begun && of.newest.after == what.after)
    return true;
  const bool is_next =
    !of.has_begun || (!of.newest.rows.empty() && of.newest.rows.back().key == what.after);
  if (!is_next || !of.at)
    return false;
  auto rows = of.at->page(what.after, state_page_bytes);
  if (!rows) {
    log::warn("a member's state cannot be read for another", {{"why", to_text(rows.error())}});
    return false;
  }
  of.has_begun = true;
  std::size_t bytes = 0;
  for (const auto& row : *rows) {
    of.root.add(row);
    bytes += row.key.size() + row.value.size();
  }
  of.newest = {};
  of.newest.from = what.to;
  of.newest.to = what.from;
  of.newest.attempt = what.attempt;
  of.newest.after = what.after;
  of.newest.rows = *std::move(rows);
  if (bytes >= state_page_bytes)
    return true;
  of.newest.is_last = true;
  of.newest.index = of.at->index();
  of.newest.term = of.at->term();
  of.newest.root = of.root.finish();
  of.at.reset(); // Its pages may be used again.
  return true;
}

void state_desk::forget_idle() {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(sessions_, [&](const auto& one) {
    return now - one.second.asked_at >= session_idle;
  });
}

} // namespace assay::store
