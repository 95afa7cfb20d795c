#include "src/fabric/peer_links_thread.hpp"

#include "src/wire/peer_checks.hpp"
#include "src/wire/peer_codec.hpp"

#include <algorithm>
#include <utility>

namespace assay::peers {

namespace {

using clock = std::chrono::steady_clock;
using fabric::frame;
using fabric::lost_reason;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr int frames_per_turn = 64;
constexpr int sends_per_turn = 64;
constexpr std::size_t message_overhead = 64; // So that many tiny ones count too.

} // namespace

peer_links::thread::thread(link_options options, link_events events)
  : options_{std::move(options)}, events_{std::move(events)}, wanted_{options_.peers},
    roster_{options_.self}, next_beat_{clock::now()} {}

peer_links::thread::~thread() {
  stopping_ = true;
  wake_.raise();
  if (thread_.joinable())
    thread_.join();
}

// -- from any thread --------------------------------------------------------------------------

std::size_t peer_links::thread::budget(lane of) const {
  switch (of) {
  case lane::consensus:
    return options_.consensus_bytes;
  case lane::bulk:
    return options_.bulk_bytes;
  case lane::service:
    return options_.service_bytes;
  }
  return 0;
}

send_outcome peer_links::thread::send(std::uint64_t to, const message& what) {
  auto bytes = wire::encode(what);
  if (!bytes) {
    std::lock_guard hold{mutex_};
    ++sends_invalid_;
    return send_outcome::invalid;
  }
  auto outcome = put({to, lane_of(what)}, *std::move(bytes));
  if (outcome == send_outcome::queued && !is_called_.exchange(true))
    wake_.raise();
  return outcome;
}

send_outcome peer_links::thread::put(const way& where, std::string bytes) {
  std::lock_guard hold{mutex_};
  auto found = outboxes_.find(where);
  if (found == outboxes_.end()) {
    ++sends_down_;
    return send_outcome::down;
  }
  auto& box = found->second;
  auto cost = bytes.size() + message_overhead;
  if (box.bytes + cost > budget(where.second)) {
    ++sends_full_;
    return send_outcome::full;
  }
  box.bytes += cost;
  box.waiting.push_back(std::move(bytes));
  return send_outcome::queued;
}

std::vector<problem> peer_links::thread::set_peers(std::vector<peer> peers) {
  auto problems = sift(peers, options_.self, options_.keys.shared);
  {
    std::lock_guard hold{mutex_};
    wanted_ = std::move(peers);
    ++wanted_generation_;
  }
  wake_.raise();
  return problems;
}

link_counters peer_links::thread::counters() const {
  std::lock_guard hold{mutex_};
  auto out = published_;
  out.sends_down = sends_down_;
  out.sends_full = sends_full_;
  out.sends_invalid = sends_invalid_;
  for (const auto& [where, box] : outboxes_)
    out.waiting_bytes += box.bytes;
  return out;
}

std::vector<peer_links::thread::way> peer_links::thread::ways_up() const {
  std::lock_guard hold{mutex_};
  std::vector<way> all;
  for (const auto& [where, box] : outboxes_)
    all.push_back(where);
  return all;
}

// -- the thread's own -------------------------------------------------------------------------

void peer_links::thread::run() {
  while (!stopping_)
    turn();
  stop_all();
}

void peer_links::thread::turn() {
  take_peers();
  turn_diallers();
  flush();
  poll();
  take_peers();
  answer_questions();
  for (int i = 0; i < frames_per_turn && may_hear_; ++i)
    may_hear_ = receive_one();
  if (clock::now() >= next_beat_)
    beat();
  publish_counters();
}

void peer_links::thread::poll() {
  const auto [questions, messages] = door_.descriptors();
  polled_ = {{wake_.descriptor(), POLLIN, 0}, {questions, POLLIN, 0}, {messages, POLLIN, 0}};
  bool may_wait = !may_ask_ && !may_hear_;
  auto due = next_beat_;
  for (auto& [where, dialler] : diallers_) {
    may_wait &= dialler.watch(polled_, has_waiting(where));
    due = std::min(due, dialler.due());
  }
  auto left = std::chrono::ceil<milliseconds>(due - clock::now());
  auto wait = may_wait ? std::clamp(left, milliseconds{0}, options_.heartbeat_every) : 0ms;
  // An interrupted poll is an early turn, which is harmless.
  ::poll(polled_.data(), polled_.size(), static_cast<int>(wait.count()));
  if (polled_[0].revents != 0) {
    wake_.clear();
    is_called_ = false; // Whoever sends from here on calls again; the outboxes are looked at next.
  }
  may_ask_ |= polled_[1].revents != 0;
  may_hear_ |= polled_[2].revents != 0;
  const auto* rest = polled_.data() + 3;
  for (auto& [where, dialler] : diallers_)
    rest = dialler.take_signals(rest);
}

void peer_links::thread::answer_questions() {
  if (!std::exchange(may_ask_, false))
    return;
  auto is_allowed = [this](const fabric::public_key& key) { return roster_.find(key) != nullptr; };
  counters_.keys_refused += door_.answer(is_allowed);
}

void peer_links::thread::take_peers() {
  if (wanted_generation_ == taken_generation_)
    return;
  std::vector<peer> peers;
  {
    std::lock_guard hold{mutex_};
    peers = wanted_;
    taken_generation_ = wanted_generation_;
  }
  for (const auto& ended : roster_.replace(peers))
    tell(ended.routing, ended.why);
  redial_changed(peers);
}

/// Closes what is dialled to those who went or changed, and begins to dial the others.
void peer_links::thread::redial_changed(const std::vector<peer>& peers) {
  for (auto at = diallers_.begin(); at != diallers_.end();) {
    auto& [where, dialler] = *at;
    if (std::find(peers.begin(), peers.end(), dialler.whom()) != peers.end()) {
      ++at;
      continue;
    }
    auto news =
      dialler.drop(clock::now(), lost_reason::closed_by_peer, "the registry no longer has it so");
    auto gone = where;
    at = diallers_.erase(at);
    if (news)
      note(gone, *news);
  }
  for (const auto& p : peers)
    for (auto which : {lane::consensus, lane::bulk, lane::service})
      diallers_.try_emplace({p.node, which}, context_, options_, p, which, ++seeds_);
}

void peer_links::thread::turn_diallers() {
  // A copy, because whoever is told may change the peers.
  std::vector<std::pair<way, dialler_news>> all;
  auto now = clock::now();
  for (auto& [where, dialler] : diallers_) {
    if (auto news = dialler.turn(now))
      all.emplace_back(where, *std::move(news));
  }
  for (const auto& [where, news] : all)
    note(where, news);
}

void peer_links::thread::note(const way& where, const dialler_news& news) {
  {
    std::lock_guard hold{mutex_};
    if (news.is_up)
      outboxes_[where];
    else
      outboxes_.erase(where); // What was said to the old session is not said to the next.
  }
  if (news.is_up && events_.up)
    events_.up(where.first, where.second);
  if (!news.is_up && events_.down)
    events_.down(where.first, where.second, news.why);
}

/// All that fits of the consensus lanes, then a bounded part of service, then one page per peer.
void peer_links::thread::flush() {
  for (auto& [where, dialler] : diallers_)
    if (where.second == lane::consensus)
      for (int i = 0; i < sends_per_turn && send_one(where, dialler); ++i) {
      }
  for (auto& [where, dialler] : diallers_)
    if (where.second == lane::service)
      flush_service(where, dialler);
  for (auto& [where, dialler] : diallers_)
    if (where.second == lane::bulk)
      send_one(where, dialler);
}

void peer_links::thread::flush_service(const way& where, peer_dialler& by) {
  std::size_t sent = 0;
  for (int i = 0; i < sends_per_turn && sent < limits::peer_service_turn_bytes; ++i) {
    auto bytes = send_one(where, by);
    if (bytes == 0)
      return;
    sent += bytes;
  }
}

/// The bytes that were sent; 0 when nothing waits, or libzmq does not take it now.
std::size_t peer_links::thread::send_one(const way& where, peer_dialler& by) {
  auto bytes = take(where);
  if (!bytes)
    return 0;
  if (!by.send(*bytes)) {
    put_back(where, *std::move(bytes));
    return 0;
  }
  ++counters_.sent;
  std::lock_guard hold{mutex_};
  outboxes_.at(where).bytes -= bytes->size() + message_overhead;
  return bytes->size();
}

std::optional<std::string> peer_links::thread::take(const way& where) {
  std::lock_guard hold{mutex_};
  auto found = outboxes_.find(where);
  if (found == outboxes_.end() || found->second.waiting.empty())
    return std::nullopt;
  auto bytes = std::move(found->second.waiting.front());
  found->second.waiting.pop_front();
  return bytes;
}

void peer_links::thread::put_back(const way& where, std::string bytes) {
  std::lock_guard hold{mutex_};
  outboxes_.at(where).waiting.push_front(std::move(bytes));
}

bool peer_links::thread::has_waiting(const way& where) const {
  std::lock_guard hold{mutex_};
  auto found = outboxes_.find(where);
  return found != outboxes_.end() && !found->second.waiting.empty();
}

void peer_links::thread::beat() {
  next_beat_ = clock::now() + options_.heartbeat_every;
  for (const auto& routing : roster_.routings())
    // ROUTER_MANDATORY: the connection is gone, and its number must not outlive it.
    if (!tell(routing, peers::beat{}) && errno == EHOSTUNREACH)
      roster_.forget(routing);
}

void peer_links::thread::stop_all() {
  for (const auto& routing : roster_.routings())
    tell(routing, closing{closing_reason::shutting_down, "the coordinator stops"});
  diallers_.clear();
  publish_counters();
  door_.close();
}

void peer_links::thread::publish_counters() {
  std::lock_guard hold{mutex_};
  published_ = counters_;
}

// -- what is heard ------------------------------------------------------------------------------

bool peer_links::thread::receive_one() {
  std::string routing;
  frame payload;
  auto heard = door_.receive(routing, payload);
  if (heard == fabric::door::heard::nothing)
    return false;
  ++counters_.received;
  if (heard == fabric::door::heard::message)
    judge_frame(routing, payload);
  else
    ++counters_.dropped_invalid;
  return true;
}

void peer_links::thread::judge_frame(const std::string& routing, const frame& payload) {
  take_peers(); // For each message: a revoked key is not heard once more.
  auto key = fabric::parse_public_key(payload.user_id);
  auto entry = key ? roster_.find(*key) : nullptr;
  if (entry == nullptr) {
    ++counters_.dropped_key;
    return;
  }
  auto from = *entry; // A copy, because whoever is told may change the peers.
  auto said = wire::decode_peer_message(payload.span());
  if (said)
    return judge_message(routing, from, *std::move(said));
  if (said.error().kind == problem_kind::refused) {
    ++counters_.dropped_unknown_kind;
    return;
  }
  refuse(from.node, said.error());
}

void peer_links::thread::judge_message(const std::string& routing, const peer& from, message said) {
  if (auto greeting = std::get_if<hello>(&said))
    return greet(routing, from, *greeting);
  auto spoken = roster_.hear(routing, from);
  if (!spoken) {
    ++counters_.dropped_session;
    tell(routing, closing{closing_reason::protocol, "say hello first"});
    return;
  }
  bool is_answer = std::holds_alternative<welcome>(said)
                   || std::holds_alternative<peers::beat>(said)
                   || std::holds_alternative<closing>(said);
  if (is_answer || lane_of(said) != *spoken)
    return refuse(
      from.node,
      {problem_kind::invalid,
       "a message came on a connection that does not carry it",
       "peer message",
       "here it goes on the lane " + std::string{name(lane_of(said))}}
    );
  if (auto wrong = refuse_route(said, from.node, options_.self.node))
    return refuse(from.node, *wrong);
  pass_on(from.node, std::move(said));
}

void peer_links::thread::greet(const std::string& routing, const peer& from, const hello& said) {
  auto greeting = roster_.greet(routing, from, said);
  if (greeting.refusal) {
    ++counters_.hellos_refused;
    tell(routing, *greeting.refusal);
    if (events_.refused)
      events_.refused(
        from.node,
        {greeting.refusal->reason == closing_reason::superseded ? problem_kind::refused
                                                                : problem_kind::forbidden,
         "a hello was refused (" + std::string{name(greeting.refusal->reason)}
           + "): " + greeting.refusal->text,
         from.address,
         "nothing of it is accepted"}
      );
    return;
  }
  if (greeting.replaced)
    tell(greeting.replaced->routing, greeting.replaced->why);
  tell(routing, welcome{said.session});
  for (auto& [where, dialler] : diallers_)
    if (where.first == from.node)
      dialler.hurry(clock::now());
  if (events_.greeted)
    events_.greeted(said);
}

void peer_links::thread::pass_on(std::uint64_t node, message said) {
  ++counters_.delivered;
  if (events_.message)
    events_.message(node, std::move(said));
}

void peer_links::thread::refuse(std::uint64_t node, const problem& why) {
  ++counters_.dropped_invalid;
  if (events_.refused)
    events_.refused(node, why);
}

/// To whoever dialled us. A connection that is gone or takes nothing is not told: it learns by the
/// silence that follows.
bool peer_links::thread::tell(const std::string& routing, const message& what) {
  auto bytes = wire::encode(what);
  may_hear_ = true;
  return bytes && door_.send(routing, *bytes);
}

} // namespace assay::peers
