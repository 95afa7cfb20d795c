#include "src/fabric/hub_thread.hpp"

#include "src/base/check.hpp"
#include "src/base/peer_limits.hpp"
#include "src/fabric/join_checks.hpp"

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace assay::fabric {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// So few, because libzmq counts messages and not bytes; the rest waits in the roster, by bytes.
constexpr int waiting_in_libzmq = 16;
constexpr int frames_per_turn = 256;
constexpr auto stalled_retry = milliseconds{5};

} // namespace

hub::thread::thread(hub_options options, hub_events events)
  : options_{std::move(options)}, events_{std::move(events)}, allowed_{options_.allow_list},
    told_standing_{options_.standing}, roster_{options_.peer_silence, options_.peer_queue_bytes},
    standing_{options_.standing}, next_beat_{clock::now()} {}

hub::thread::~thread() {
  stopping_ = true;
  wake_.raise();
  if (thread_.joinable())
    thread_.join();
}

// -- from any thread --------------------------------------------------------------------------

result<void, problem> hub::thread::open() {
  auto opened = door_.open(
    context_,
    {options_.listen, options_.keys, "agents", waiting_in_libzmq, 2 * limits::message_bytes}
  );
  if (!opened)
    return opened;
  thread_ = std::thread{[this] {
    ::pthread_setname_np(::pthread_self(), "fabric hub");
    run();
  }};
  return door_.prove_closed(context_);
}

send_outcome hub::thread::send(const host_id& peer, const coordinator_message& message) {
  return enqueue({peer, 0, wire::encode(message)});
}

void hub::thread::answer(std::uint64_t join_number, joined outcome) {
  if (outcome.accepted && outcome.coordinators.empty()) {
    std::lock_guard hold{mutex_};
    outcome.coordinators = told_standing_.coordinators;
  }
  enqueue({{}, join_number, wire::encode(coordinator_message{outcome})});
}

send_outcome hub::thread::enqueue(parcel what) {
  if (what.bytes.size() > limits::message_bytes)
    return send_outcome::too_large;
  {
    std::lock_guard hold{mutex_};
    if (outbox_.size() >= limits::hub_queue || outbox_bytes_ + what.bytes.size() > limits::hub_bytes)
      return send_outcome::full;
    outbox_bytes_ += what.bytes.size();
    outbox_.push_back(std::move(what));
  }
  wake_.raise();
  return send_outcome::queued;
}

void hub::thread::replace_allow_list(std::vector<admitted> allow_list) {
  {
    std::lock_guard hold{mutex_};
    allowed_ = std::move(allow_list);
    ++allowed_generation_;
  }
  wake_.raise();
}

void hub::thread::set_standing(standing now) {
  check(now.coordinators.size() <= limits::peers, "a group has at most limits::peers coordinators");
  {
    std::lock_guard hold{mutex_};
    told_standing_ = std::move(now);
    ++standing_generation_;
  }
  wake_.raise();
}

hub_counters hub::thread::counters() const {
  std::lock_guard hold{mutex_};
  return published_;
}

// -- the thread's own -------------------------------------------------------------------------

void hub::thread::run() {
  take_allow_list();
  while (!stopping_)
    turn();
  stop_all();
}

void hub::thread::turn() {
  poll();
  wake_.clear();
  take_allow_list();
  take_standing();
  answer_questions();
  take_parcels();
  for (int i = 0; i < frames_per_turn && receive_one(); ++i) {
  }
  flush_stalled();
  if (clock::now() >= next_beat_)
    beat();
  publish_counters();
}

void hub::thread::poll() {
  auto left = std::chrono::ceil<milliseconds>(next_beat_ - clock::now());
  auto most = stalled_.empty() ? options_.heartbeat_every : stalled_retry;
  auto [questions, messages] = door_.items();
  zmq_pollitem_t items[] = {questions, messages, {nullptr, wake_.descriptor(), ZMQ_POLLIN, 0}};
  // An interrupted poll is an early turn, which is harmless.
  zmq_poll(
    items, std::size(items), static_cast<long>(std::clamp(left, milliseconds{0}, most).count())
  );
}

void hub::thread::answer_questions() {
  auto is_allowed = [this](const public_key& key) { return roster_.find(key) != nullptr; };
  counters_.keys_refused += door_.answer(is_allowed);
}

void hub::thread::take_allow_list() {
  if (allowed_generation_ == taken_generation_)
    return;
  std::vector<admitted> entries;
  {
    std::lock_guard hold{mutex_};
    entries = allowed_;
    taken_generation_ = allowed_generation_;
  }
  for (const auto& ended : roster_.replace(allow_list{std::move(entries)}))
    finish(ended);
}

void hub::thread::take_parcels() {
  std::deque<parcel> parcels;
  {
    std::lock_guard hold{mutex_};
    parcels.swap(outbox_);
    outbox_bytes_ = 0;
  }
  for (auto& what : parcels)
    carry(std::move(what));
}

void hub::thread::carry(parcel what) {
  if (what.join_number != 0) {
    auto routing = joins_.take(what.join_number);
    if (!routing || !post(*routing, what.bytes))
      ++counters_.sends_refused;
    return;
  }
  auto session = roster_.find_session(what.peer);
  if (session == nullptr) {
    ++counters_.sends_refused;
    return;
  }
  push(*session, std::move(what.bytes));
}

bool hub::thread::receive_one() {
  std::string routing;
  frame payload;
  auto heard = door_.receive(routing, payload);
  if (heard == door::heard::nothing)
    return false;
  ++counters_.received;
  if (heard == door::heard::message)
    judge_frame(std::move(routing), payload);
  else
    ++counters_.dropped_malformed;
  return true;
}

void hub::thread::judge_frame(std::string routing, const frame& payload) {
  take_allow_list(); // For each message: a revoked key is not heard once more.
  auto key = parse_public_key(payload.user_id);
  auto entry = key ? roster_.find(*key) : nullptr;
  if (entry == nullptr) {
    ++counters_.dropped_key;
    return;
  }
  auto message = wire::decode_agent_message(payload.span());
  if (!message)
    return count(message.error());
  judge_message({std::move(routing), *key, entry}, std::move(*message));
}

void hub::thread::judge_message(const incoming& from, agent_message message) {
  auto joining = std::get_if<join>(&message);
  if ((joining != nullptr) != (from.entry->role == role::joiner)) {
    ++counters_.dropped_role;
    return;
  }
  if (joining != nullptr)
    return judge_join(from, *joining);
  if (auto said = std::get_if<hello>(&message))
    return greet(from, *said);
  pass_on(from, std::move(message));
}

void hub::thread::judge_join(const incoming& from, const join& said) {
  if (!standing_.leads)
    return tell(from.routing, redirection());
  if (auto fault = fault_of(said))
    return tell(from.routing, joined{false, {}, *fault});
  auto receipt = joins_.ask(from.key, from.routing, said, clock::now());
  if (receipt.outcome == join_desk::outcome::busy)
    return tell(from.routing, joined{false, {}, "too many hosts are joining; try again"});
  if (receipt.outcome == join_desk::outcome::repeated)
    return;
  if (events_.join)
    events_.join({receipt.number, from.key, said.name, said.key, said.member});
}

void hub::thread::greet(const incoming& from, const hello& said) {
  if (!standing_.leads)
    return tell(from.routing, elsewhere());
  auto identity = from.entry->identity;
  auto greeting = roster_.greet(from.routing, from.key, said, clock::now());
  if (!greeting.admitted) {
    ++counters_.dropped_session;
    return tell(from.routing, greeting.refusal);
  }
  if (greeting.replaced)
    finish(*greeting.replaced);
  if (events_.peer_up)
    events_.peer_up(identity, said);
  auto& session = *roster_.find_session(identity);
  push(session, wire::encode(coordinator_message{welcome_of(session)}));
}

void hub::thread::pass_on(const incoming& from, agent_message message) {
  auto session = roster_.hear(from.routing, from.key, clock::now());
  bool heartbeat = std::holds_alternative<agent_heartbeat>(message);
  if (session == nullptr) {
    ++counters_.dropped_session;
    // Only heartbeats are answered, so that an answer cannot cost more than a message a second.
    if (heartbeat && standing_.leads)
      tell(from.routing, closing{closing_reason::no_session, "say hello first"});
    else if (heartbeat)
      tell(from.routing, elsewhere());
    return;
  }
  if (heartbeat)
    return;
  ++counters_.delivered;
  if (events_.message)
    events_.message(session->identity, std::move(message));
}

void hub::thread::count(wire::decode_fault fault) {
  switch (fault) {
  case wire::decode_fault::too_large:
    ++counters_.dropped_too_large;
    return;
  case wire::decode_fault::malformed:
    ++counters_.dropped_malformed;
    return;
  case wire::decode_fault::unknown_kind:
    ++counters_.dropped_unknown_kind;
    return;
  }
}

void hub::thread::beat() {
  auto now = clock::now();
  next_beat_ = now + options_.heartbeat_every;
  joins_.lapse(now);
  for (const auto& ended : roster_.lapse(now))
    finish(ended);
  auto bytes = wire::encode(coordinator_message{coordinator_heartbeat{standing_.epoch}});
  push_to_all([&](const peer_session&) { return bytes; });
}

std::vector<host_id> hub::thread::peers() {
  std::vector<host_id> all;
  roster_.each([&](const peer_session& session) { all.push_back(session.identity); });
  return all;
}

/// By name, because a push may end the session.
void hub::thread::push_to_all(const std::function<std::string(const peer_session&)>& what) {
  for (const auto& peer : peers())
    if (auto session = roster_.find_session(peer))
      push(*session, what(*session));
}

/// May end the session, so `to` is not used after it.
void hub::thread::push(peer_session& to, std::string bytes) {
  auto identity = to.identity;
  if (!roster_.put(to, std::move(bytes))) {
    if (auto ended = roster_.end(identity, down_reason::slow))
      finish(*ended);
    return;
  }
  if (to.waiting.size() > 1) // Something waits already, and order holds.
    return;
  flush(to);
}

/// False when the session ended or still has something waiting.
bool hub::thread::flush(peer_session& to) {
  while (!to.waiting.empty()) {
    if (post(to.routing, to.waiting.front())) {
      ++counters_.sent;
      roster_.taken(to);
      continue;
    }
    if (errno == EAGAIN) {
      stalled_.insert(to.identity);
      return false;
    }
    // ROUTER_MANDATORY: the connection is gone.
    if (auto ended = roster_.end(host_id{to.identity}, down_reason::disconnected))
      finish(*ended);
    return false;
  }
  return true;
}

void hub::thread::flush_stalled() {
  auto peers = std::exchange(stalled_, {});
  for (const auto& peer : peers)
    if (auto session = roster_.find_session(peer))
      flush(*session);
}

bool hub::thread::post(const std::string& routing, std::string_view bytes) {
  return door_.send(routing, bytes);
}

/// For what needs no session; to a peer that does not take it, it is not said.
void hub::thread::tell(const std::string& routing, const coordinator_message& message) {
  if (!post(routing, wire::encode(message)))
    ++counters_.sends_refused;
}

void hub::thread::finish(const ended_session& ended) {
  if (auto said = farewell(ended.reason))
    tell(ended.routing, *said);
  if (ended.reason == down_reason::slow)
    ++counters_.peers_cut_slow;
  if (ended.reason == down_reason::silent)
    ++counters_.peers_lost_silent;
  if (events_.peer_down)
    events_.peer_down(ended.identity, ended.reason);
}

void hub::thread::end_all(down_reason reason) {
  for (const auto& peer : peers())
    if (auto ended = roster_.end(peer, reason))
      finish(*ended);
}

void hub::thread::stop_all() {
  take_parcels(); // What was sent before the end still goes, as far as it fits.
  end_all(down_reason::stopped);
  publish_counters();
  door_.close();
}

void hub::thread::publish_counters() {
  std::lock_guard hold{mutex_};
  published_ = counters_;
}

} // namespace assay::fabric
