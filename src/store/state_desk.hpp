#pragma once
// Where members that are too far behind get our state: one page for each request, all pages of one
// attempt from one read transaction.
//
// Its own thread reads, so that neither the lane of consensus nor applying waits for the disk. Who
// asks no more is forgotten: an open transaction keeps the pages of its moment from being used
// again.

#include "src/store/peers.hpp"
#include "src/store/state_store.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

namespace assay::store {

class state_desk {
public:
  /// Both outlive it.
  state_desk(const state_store& state, peer_sender& peers);
  ~state_desk();

  /// Any thread; never waits. With too many waiting it is dropped, and will be asked again.
  void ask(state_request what);

private:
  using time_point = std::chrono::steady_clock::time_point;

  struct session {
    std::uint64_t attempt = 0;
    std::unique_ptr<state_store::copy> at; ///< None: its last page was made.
    state_root root;
    state_page newest; ///< Kept for whoever did not get it.
    bool has_begun = false;
    time_point asked_at;
  };

  void run();
  std::optional<state_request> next();
  state_page serve(const state_request& what);
  bool open(session& into, const state_request& what);
  bool turn_page(session& of, const state_request& what);
  void forget_idle();

  const state_store& state_;
  peer_sender& peers_;

  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<state_request> queue_;
  bool is_stopping_ = false;

  std::map<std::uint64_t, session> sessions_; ///< By who asks. Only the thread touches them.
  std::thread thread_;
};

} // namespace assay::store
