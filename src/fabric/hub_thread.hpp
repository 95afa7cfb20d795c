#pragma once
// The thread inside a hub: everything below "the thread's own" is touched by that thread alone, the
// rest is under one mutex. What it decides it asks of the roster.

#include "src/fabric/door.hpp"
#include "src/fabric/hub.hpp"
#include "src/fabric/roster.hpp"
#include "src/wire/fabric_codec.hpp"

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

namespace assay::fabric {

class hub::thread {
public:
  thread(hub_options options, hub_events events);
  ~thread();
  thread(const thread&) = delete;
  thread& operator=(const thread&) = delete;

  result<void, problem> open();

  send_outcome send(const host_id& peer, const coordinator_message& message);
  void replace_allow_list(std::vector<admitted> allow_list);
  void set_standing(standing now);
  void answer(std::uint64_t join_number, joined outcome);
  const std::string& address() const { return door_.address(); }
  hub_counters counters() const;

private:
  struct parcel {
    host_id peer;                  ///< Or, when empty,
    std::uint64_t join_number = 0; ///< the join request that this answers.
    std::string bytes;
  };

  struct incoming {
    std::string routing;
    public_key key;
    const admitted* entry;
  };

  send_outcome enqueue(parcel what);

  // The thread's own.
  void run();
  void turn();
  void poll();
  void answer_questions();
  void take_allow_list();
  void take_standing();
  void take_parcels();
  void carry(parcel what);
  bool receive_one();
  void judge_frame(std::string routing, const frame& payload);
  void judge_message(const incoming& from, agent_message message);
  void judge_join(const incoming& from, const join& said);
  void greet(const incoming& from, const hello& said);
  void pass_on(const incoming& from, agent_message message);
  void count(wire::decode_fault fault);
  void beat();
  void push(peer_session& to, std::string bytes);
  bool flush(peer_session& to);
  void flush_stalled();
  bool post(const std::string& routing, std::string_view bytes);
  void tell(const std::string& routing, const coordinator_message& message);
  void finish(const ended_session& ended);
  void end_all(down_reason reason);
  void stop_all();
  std::vector<host_id> peers();
  void push_to_all(const std::function<std::string(const peer_session&)>& what);
  welcome welcome_of(const peer_session& session) const;
  std::optional<closing> farewell(down_reason reason) const;
  closing elsewhere() const;
  joined redirection() const;
  void publish_counters();

  const hub_options options_;
  const hub_events events_;

  mutable std::mutex mutex_;
  std::deque<parcel> outbox_;
  std::size_t outbox_bytes_ = 0;
  std::vector<admitted> allowed_;
  standing told_standing_;
  hub_counters published_;
  std::atomic<std::uint64_t> allowed_generation_{1};
  std::atomic<std::uint64_t> standing_generation_{0};
  std::atomic<bool> stopping_{false};
  wake_up wake_;

  context context_;
  door door_;
  roster roster_;
  join_desk joins_;
  std::set<host_id> stalled_; ///< Peers with something waiting.
  hub_counters counters_;
  std::uint64_t taken_generation_ = 0;
  standing standing_;
  std::uint64_t taken_standing_ = 0;
  steady_time next_beat_;
  std::thread thread_;
};

} // namespace assay::fabric
