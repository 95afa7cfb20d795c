#pragma once
// The thread inside peer_links: everything below "the thread's own" is touched by that thread
// alone, the rest is under one mutex. Who may speak it asks of the roster, each line has its
// dialler.

#include "src/fabric/door.hpp"
#include "src/fabric/peer_dialler.hpp"
#include "src/fabric/peer_links.hpp"
#include "src/fabric/peer_roster.hpp"
#include "src/fabric/sockets.hpp"

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

namespace assay::peers {

class peer_links::thread {
public:
  thread(link_options options, link_events events);
  ~thread();
  thread(const thread&) = delete;
  thread& operator=(const thread&) = delete;

  result<void, problem> open();

  send_outcome send(std::uint64_t to, const message& what);
  std::vector<problem> set_peers(std::vector<peer> peers);
  const std::string& address() const { return door_.address(); }
  link_counters counters() const;

  using way = std::pair<std::uint64_t, lane>; ///< To a node, on a lane.
  std::vector<way> ways_up() const;

private:
  /// Encoded and unsent, only while the way is up.
  struct outbox {
    std::deque<std::string> waiting;
    std::size_t bytes = 0;
  };

  std::size_t budget(lane of) const;
  send_outcome put(const way& where, std::string bytes);

  // The thread's own.
  void run();
  void turn();
  void poll();
  void answer_questions();
  void take_peers();
  void redial_changed(const std::vector<peer>& peers);
  void turn_diallers();
  void note(const way& where, const dialler_news& news);
  void flush();
  void flush_service(const way& where, peer_dialler& by);
  std::size_t send_one(const way& where, peer_dialler& by);
  std::optional<std::string> take(const way& where);
  void put_back(const way& where, std::string bytes);
  bool has_waiting(const way& where) const;

  bool receive_one();
  void judge_frame(const std::string& routing, const fabric::frame& payload);
  void judge_message(const std::string& routing, const peer& from, message said);
  void greet(const std::string& routing, const peer& from, const hello& said);
  void pass_on(std::uint64_t node, message said);
  void refuse(std::uint64_t node, const problem& why);
  bool tell(const std::string& routing, const message& what);
  void beat();
  void stop_all();
  void publish_counters();

  const link_options options_;
  const link_events events_;

  mutable std::mutex mutex_;
  std::map<way, outbox> outboxes_; ///< Of the ways that are up.
  std::vector<peer> wanted_;
  link_counters published_;
  std::uint64_t sends_down_ = 0, sends_full_ = 0, sends_invalid_ = 0;
  std::atomic<std::uint64_t> wanted_generation_{1};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> is_called_{false}; ///< By somebody who sent; once is enough.
  fabric::wake_up wake_;

  fabric::context context_;
  fabric::door door_;
  peer_roster roster_;
  std::map<way, peer_dialler> diallers_;
  link_counters counters_;
  std::uint64_t taken_generation_ = 0;
  std::vector<pollfd> polled_;
  bool may_ask_ = true;  ///< libzmq has a question about a key.
  bool may_hear_ = true; ///< The door has a message, or was spoken through since it was asked.
  steady_time next_beat_;
  std::uint32_t seeds_ = 0;
  std::thread thread_;
};

} // namespace assay::peers
