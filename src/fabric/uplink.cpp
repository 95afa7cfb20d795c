#include "src/fabric/uplink.hpp"

#include "src/base/log.hpp"
#include "src/fabric/dialling_order.hpp"
#include "src/fabric/join_checks.hpp"
#include "src/fabric/line.hpp"
#include "src/wire/fabric_codec.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <random>
#include <thread>

namespace assay::fabric {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int frames_per_turn = 256;
constexpr auto shortest_beat = milliseconds{10};

std::uint64_t wall_us() {
  auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
    std::chrono::duration_cast<std::chrono::microseconds>(since).count()
  );
}

problem bad_address(std::string what) {
  return {
    problem_kind::invalid,
    std::move(what),
    "coordinators",
    "write HOST:PORT, for example 10.0.0.5:7103",
  };
}

lost_reason lost_by(line_event event) {
  switch (event) {
  case line_event::refused:
    return lost_reason::refused;
  case line_event::unreachable:
    return lost_reason::unreachable;
  case line_event::garbled:
    return lost_reason::wrong_server;
  default:
    return lost_reason::disconnected;
  }
}

} // namespace

/// A round of run() is one line: dial, greet, stay up, end, pause. Everything below "the thread's
/// own" is touched by that thread alone, the rest is under one mutex.
class uplink::thread {
public:
  thread(uplink_options options, uplink_events events)
    : options_{std::move(options)}, events_{std::move(events)},
      order_{
        options_.coordinators,
        only_dialled(options_.learned),
        redial{options_.retry_first, options_.retry_most}},
      epochs_{options_.epoch}, chance_{static_cast<std::uint32_t>(wall_us())} {}

  ~thread() {
    stopping_ = true;
    wake_.raise();
    if (thread_.joinable())
      thread_.join();
  }
  thread(const thread&) = delete;
  thread& operator=(const thread&) = delete;

  void begin() {
    thread_ = std::thread{[this] {
      ::pthread_setname_np(::pthread_self(), "fabric uplink");
      run();
    }};
  }

  bool send(const agent_message& message) {
    auto bytes = wire::encode(message);
    {
      std::lock_guard hold{mutex_};
      bool fits = bytes.size() <= limits::message_bytes
                  && waiting_bytes_ + bytes.size() <= limits::peer_queue_bytes;
      if (!up_ || !fits)
        return false;
      waiting_bytes_ += bytes.size();
      waiting_.push_back(std::move(bytes));
    }
    wake_.raise();
    return true;
  }

  uplink_counters counters() const {
    std::lock_guard hold{mutex_};
    return counters_;
  }

private:
  // The thread's own.
  void run() {
    while (!stopping_) {
      auto lost = one_line();
      close_queue();
      if (stopping_)
        return;
      if (events_.lost)
        events_.lost(lost);
      pause(order_.ended(lost.reason, leader_, static_cast<std::uint32_t>(chance_())));
    }
  }

  /// From dialling to the end of the session, and why it ended.
  lost_link one_line() {
    ended_.reset();
    leader_.reset();
    line_ = line{context_, order_.whom().address, options_.keys, order_.whom().key};
    if (!line_)
      return lost(lost_reason::unreachable);
    welcomed_ = false;
    heard_ = clock::now();
    next_beat_ = clock::time_point::max();
    while (!ended_ && !stopping_)
      turn();
    line_ = {};
    return ended_.value_or(lost_link{});
  }

  void turn() {
    poll();
    wake_.clear();
    for (int i = 0; i < frames_per_turn && !ended_ && receive_one(); ++i) {
    }
    while (!ended_ && take_event()) {
    }
    if (ended_)
      return;
    beat();
    flush();
    if (clock::now() - heard_ > options_.peer_silence)
      end(welcomed_ ? lost_reason::silent : lost_reason::unreachable);
  }

  void poll() {
    auto deadline = std::min(next_beat_, heard_ + options_.peer_silence + milliseconds{1});
    auto left = std::chrono::ceil<milliseconds>(deadline - clock::now());
    auto dealer_events = static_cast<short>(ZMQ_POLLIN | (stalled_ ? ZMQ_POLLOUT : 0));
    zmq_pollitem_t items[] = {
      {line_.dealer().get(), 0, dealer_events, 0},
      {line_.events().get(), 0, ZMQ_POLLIN, 0},
      {nullptr, wake_.descriptor(), ZMQ_POLLIN, 0},
    };
    zmq_poll(items, std::size(items), std::max<long>(0, static_cast<long>(left.count())));
  }

  bool take_event() {
    auto event = line_.next_event();
    if (!event)
      return false;
    if (*event != line_event::established)
      end(lost_by(*event));
    else
      greet();
    return true;
  }

  void greet() {
    session_ = next_session(session_, wall_us());
    heard_ = clock::now();
    hello said{
      protocol_version,
      session_,
      options_.boot_id,
      options_.host_name,
      options_.agent_version,
    };
    if (!line_.dealer().send(wire::encode(agent_message{said})))
      end(lost_reason::disconnected);
  }

  bool receive_one() {
    frame payload;
    if (!line_.dealer().receive(payload))
      return false;
    auto whole = !payload.more;
    auto message = wire::decode_coordinator_message(payload.span());
    line_.dealer().skip_rest(payload);
    tally([](uplink_counters& c) { ++c.received; });
    if (!whole || (!message && message.error() != wire::decode_fault::unknown_kind)) {
      tally([](uplink_counters& c) { ++c.dropped_malformed; });
      return true;
    }
    heard_ = clock::now();
    if (!message)
      tally([](uplink_counters& c) { ++c.dropped_unknown_kind; });
    else
      judge(std::move(*message));
    return true;
  }

  void judge(coordinator_message message) {
    if (auto said = std::get_if<welcome>(&message))
      return come_up(*said);
    if (auto said = std::get_if<closing>(&message))
      return end_as(*said);
    if (auto said = std::get_if<coordinator_heartbeat>(&message))
      return epochs_.saw(said->epoch);
    if (!welcomed_ || std::holds_alternative<joined>(message))
      return;
    if (!epochs_.lets_in(message)) {
      log::warn("order_of_an_older_epoch_refused", {{"coordinator", order_.whom().address}});
      return tally([](uplink_counters& c) { ++c.refused_epoch; });
    }
    if (events_.message)
      events_.message(std::move(message));
  }

  void come_up(const welcome& said) {
    if (said.session != session_)
      return;
    learn(said.coordinators);
    if (welcomed_) // Said again because the coordinators changed.
      return;
    welcomed_ = true;
    epochs_.saw(said.epoch);
    order_.welcomed();
    beat_every_ = std::clamp(said.heartbeat_every, shortest_beat, options_.peer_silence / 3);
    next_beat_ = clock::now() + beat_every_;
    {
      std::lock_guard hold{mutex_};
      ++counters_.sessions;
      up_ = true;
    }
    if (events_.connected)
      events_.connected(said, order_.whom());
  }

  void learn(const std::vector<coordinator_at>& said) {
    if (order_.learn(only_dialled(said)) && events_.learned)
      events_.learned(order_.learned());
  }

  void end_as(const closing& said) {
    bool superseded = said.reason == closing_reason::superseded;
    bool revoked = said.reason == closing_reason::revoked;
    bool follows = said.reason == closing_reason::not_leader;
    end(
      superseded ? lost_reason::superseded
      : revoked  ? lost_reason::refused
      : follows  ? lost_reason::not_leader
                 : lost_reason::closed_by_peer
    );
    ended_->text += ": " + said.text;
    learn(said.coordinators);
    if (said.leader && can_be_dialled(said.leader->address))
      leader_ = said.leader;
  }

  void beat() {
    auto now = clock::now();
    if (now < next_beat_)
      return;
    next_beat_ = now + beat_every_;
    // A heartbeat that does not fit behind what waits would only say what that will say.
    line_.dealer().send(wire::encode(agent_message{agent_heartbeat{}}));
  }

  void flush() {
    stalled_ = false;
    std::lock_guard hold{mutex_};
    while (!waiting_.empty()) {
      if (!line_.dealer().send(waiting_.front())) {
        stalled_ = true;
        return;
      }
      ++counters_.sent;
      waiting_bytes_ -= waiting_.front().size();
      waiting_.pop_front();
    }
  }

  void close_queue() {
    std::lock_guard hold{mutex_};
    up_ = false;
    waiting_.clear();
    waiting_bytes_ = 0;
  }

  void pause(milliseconds time) {
    auto until = clock::now() + time;
    for (auto now = clock::now(); now < until && !stopping_; now = clock::now()) {
      zmq_pollitem_t item{nullptr, wake_.descriptor(), ZMQ_POLLIN, 0};
      zmq_poll(&item, 1, static_cast<long>(std::chrono::ceil<milliseconds>(until - now).count()));
      wake_.clear();
    }
  }

  lost_link lost(lost_reason reason) const {
    const auto& address = order_.whom().address;
    return {reason, address, describe(reason, address, options_.keys.shared)};
  }

  void end(lost_reason reason) { ended_ = lost(reason); }

  template <class Change>
  void tally(Change change) {
    std::lock_guard hold{mutex_};
    change(counters_);
  }

  const uplink_options options_;
  const uplink_events events_;

  mutable std::mutex mutex_;
  std::deque<std::string> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool up_ = false;
  uplink_counters counters_;
  std::atomic<bool> stopping_{false};
  wake_up wake_;

  context context_;
  line line_;
  dialling_order order_;
  std::optional<coordinator_at> leader_; ///< As told at the end of this line.
  epoch_gate epochs_;
  std::minstd_rand chance_;
  std::uint64_t session_ = 0;
  bool welcomed_ = false;
  bool stalled_ = false;
  milliseconds beat_every_{};
  steady_time heard_;
  steady_time next_beat_;
  std::optional<lost_link> ended_;
  std::thread thread_;
};

result<std::unique_ptr<uplink>, problem>
uplink::start(uplink_options options, uplink_events events) {
  if (options.coordinators.empty())
    return unexpected{bad_address("no coordinator is named")};
  for (const auto& one : options.coordinators)
    if (!can_be_dialled(one.address))
      return unexpected{
        bad_address("the coordinator's address '" + one.address + "' cannot be dialled")};
  if (!pair_of_secret(options.keys.secret))
    return unexpected{problem{
      problem_kind::invalid,
      "the agent's secret key is not a CURVE key",
      "agent key",
      "join the host again with a token of `assay host token`",
    }};
  auto worker = std::make_unique<thread>(std::move(options), std::move(events));
  worker->begin();
  return std::unique_ptr<uplink>{new uplink{std::move(worker)}};
}

uplink::uplink(std::unique_ptr<thread> worker) : worker_{std::move(worker)} {}

uplink::~uplink() = default;

bool uplink::send(const agent_message& message) {
  return worker_->send(message);
}

uplink_counters uplink::counters() const {
  return worker_->counters();
}

} // namespace assay::fabric
