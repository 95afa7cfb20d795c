#include "src/fabric/roster.hpp"

#include <algorithm>
#include <utility>

namespace assay::fabric {

namespace {

// What a message costs beside its bytes, so that many tiny ones count too.
constexpr std::size_t message_overhead = 64;

/// Whether the same is asked for; its clock has gone on meanwhile.
bool is_same(const join& one, join other) {
  if (one.member && other.member)
    other.member->clock = one.member->clock;
  return one == other;
}

} // namespace

allow_list::allow_list(std::vector<admitted> entries) {
  for (auto& entry : entries)
    entries_.insert_or_assign(entry.key, entry);
}

const admitted* allow_list::find(const public_key& key) const {
  auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

roster::roster(std::chrono::milliseconds peer_silence, std::size_t peer_queue_bytes)
  : peer_silence_{peer_silence}, peer_queue_bytes_{peer_queue_bytes} {}

std::vector<ended_session> roster::replace(allow_list allowed) {
  allowed_ = std::move(allowed);
  std::vector<host_id> revoked;
  for (const auto& [identity, session] : sessions_) {
    auto entry = allowed_.find(session.key);
    if (entry == nullptr || entry->role != role::agent || entry->identity != identity)
      revoked.push_back(identity);
  }
  std::vector<ended_session> ended;
  for (const auto& identity : revoked)
    ended.push_back(*end(identity, down_reason::revoked));
  return ended;
}

roster::greeting roster::greet(
  const std::string& routing, const public_key& key, const hello& said, steady_time now
) {
  if (said.protocol != protocol_version)
    return {
      .refusal = {closing_reason::protocol, "the coordinator speaks another protocol version"}};
  auto identity = allowed_.find(key)->identity;
  auto older = sessions_.find(identity);
  if (older != sessions_.end() && older->second.number >= said.session)
    return {.refusal = {closing_reason::superseded, "a newer session of this key exists"}};
  greeting answer{.admitted = true};
  answer.replaced = end(identity, down_reason::superseded);
  by_routing_[routing] = identity;
  sessions_[identity] = {routing, key, identity, said.session, now, {}, 0};
  return answer;
}

const peer_session*
roster::hear(const std::string& routing, const public_key& key, steady_time now) {
  auto name = by_routing_.find(routing);
  if (name == by_routing_.end())
    return nullptr;
  auto& session = sessions_.at(name->second);
  if (session.key != key)
    return nullptr;
  session.heard = now;
  return &session;
}

std::vector<ended_session> roster::lapse(steady_time now) {
  std::vector<host_id> silent;
  for (const auto& [identity, session] : sessions_)
    if (now - session.heard > peer_silence_)
      silent.push_back(identity);
  std::vector<ended_session> ended;
  for (const auto& identity : silent)
    ended.push_back(*end(identity, down_reason::silent));
  return ended;
}

std::optional<ended_session> roster::end(const host_id& identity, down_reason reason) {
  auto found = sessions_.find(identity);
  if (found == sessions_.end())
    return std::nullopt;
  ended_session ended{found->first, found->second.routing, reason};
  by_routing_.erase(ended.routing);
  sessions_.erase(found);
  return ended;
}

peer_session* roster::find_session(const host_id& identity) {
  auto found = sessions_.find(identity);
  return found == sessions_.end() ? nullptr : &found->second;
}

bool roster::put(peer_session& to, std::string bytes) const {
  auto cost = bytes.size() + message_overhead;
  if (to.waiting_bytes + cost > peer_queue_bytes_)
    return false;
  to.waiting_bytes += cost;
  to.waiting.push_back(std::move(bytes));
  return true;
}

void roster::taken(peer_session& from) const {
  from.waiting_bytes -= from.waiting.front().size() + message_overhead;
  from.waiting.pop_front();
}

join_desk::receipt join_desk::ask(
  const public_key& token, const std::string& routing, const join& said, steady_time now
) {
  auto found = waiting_.find(token);
  if (found != waiting_.end() && !is_same(found->second.said, said))
    return {outcome::busy, 0};
  if (found != waiting_.end()) {
    found->second.routing = routing;
    return {outcome::repeated, found->second.number};
  }
  if (waiting_.size() >= limits::joins_waiting)
    return {outcome::busy, 0};
  auto number = ++last_number_;
  waiting_.emplace(token, request{number, routing, said, now});
  return {outcome::asked, number};
}

std::optional<std::string> join_desk::take(std::uint64_t number) {
  auto is_it = [&](const auto& entry) { return entry.second.number == number; };
  auto found = std::find_if(waiting_.begin(), waiting_.end(), is_it);
  if (found == waiting_.end())
    return std::nullopt;
  auto routing = std::move(found->second.routing);
  waiting_.erase(found);
  return routing;
}

std::vector<std::string> join_desk::take_all() {
  std::vector<std::string> connections;
  for (const auto& [token, request] : waiting_)
    connections.push_back(request.routing);
  waiting_.clear();
  return connections;
}

void join_desk::lapse(steady_time now) {
  std::erase_if(waiting_, [&](const auto& entry) {
    return now - entry.second.asked > limits::join_patience;
  });
}

} // namespace assay::fabric
