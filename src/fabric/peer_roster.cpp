#include "src/fabric/peer_roster.hpp"

#include "src/fabric/line.hpp"

#include <set>

namespace assay::peers {

namespace {

struct sieve {
  const identity& self;
  const fabric::public_key& own_key;
  std::set<std::uint64_t> nodes;
  std::set<fabric::public_key> keys;

  std::string_view wrong(const peer& p) const {
    if (p.node == 0 || p.node == self.node)
      return "its id is 0 or our own";
    if (p.key == own_key)
      return "its key is our own";
    if (nodes.contains(p.node))
      return "another entry has its id";
    if (keys.contains(p.key))
      return "another entry has its key";
    if (!fabric::can_be_dialled(p.address))
      return "its address is not HOST:PORT";
    if (nodes.size() >= limits::peers)
      return "there are 64 already";
    return {};
  }
};

} // namespace

std::vector<problem>
sift(std::vector<peer>& peers, const identity& self, const fabric::public_key& own_key) {
  std::vector<problem> problems;
  std::vector<peer> good;
  sieve through{self, own_key, {}, {}};
  for (auto& p : peers) {
    if (auto why = through.wrong(p); !why.empty()) {
      problems.push_back({
        problem_kind::invalid,
        "coordinator " + std::to_string(p.node) + " at '" + p.address
          + "' was left out: " + std::string{why},
        "the registry of coordinators",
        "each coordinator has an id, a key and an address of its own",
      });
      continue;
    }
    through.nodes.insert(p.node);
    through.keys.insert(p.key);
    good.push_back(std::move(p));
  }
  peers = std::move(good);
  return problems;
}

std::vector<peer_roster::ended_session> peer_roster::replace(const std::vector<peer>& peers) {
  peers_.clear();
  for (const auto& p : peers)
    peers_[p.key] = p;
  std::erase_if(disks_, [&](const auto& known) {
    return std::none_of(peers.begin(), peers.end(), [&](const peer& p) {
      return p.node == known.first;
    });
  });
  std::vector<ended_session> ended;
  for (const auto& [routing, one] : sessions_) {
    auto entry = find(one.key);
    if (entry == nullptr || entry->node != one.node)
      ended.push_back({routing, {closing_reason::revoked, "this key may no longer speak"}});
  }
  for (const auto& one : ended)
    sessions_.erase(one.routing);
  return ended;
}

const peer* peer_roster::find(const fabric::public_key& key) const {
  auto found = peers_.find(key);
  return found == peers_.end() ? nullptr : &found->second;
}

std::optional<closing> peer_roster::refuse(const peer& from, const hello& said) const {
  if (said.protocol != protocol_version)
    return closing{
      closing_reason::protocol,
      "protocol " + std::to_string(said.protocol) + " is not ours, "
        + std::to_string(protocol_version) + "; bring all coordinators to one version"};
  if (said.cluster != self_.cluster)
    return closing{
      closing_reason::other_cluster,
      "this is cluster " + to_text(self_.cluster) + ", not " + to_text(said.cluster)
        + "; a coordinator joins with a token of the cluster it is to be in"};
  if (said.node != from.node)
    return closing{
      closing_reason::other_node,
      "this key belongs to coordinator " + std::to_string(from.node) + ", not "
        + std::to_string(said.node) + "; each coordinator has a key of its own"};
  auto seen = disks_.find(said.node);
  const auto& disk = !from.disk.empty() || seen == disks_.end() ? from.disk : seen->second;
  if (!disk.empty() && disk != said.disk)
    return closing{
      closing_reason::other_disk,
      "coordinator " + std::to_string(said.node)
        + " has another disk; stop the copy, or join a new disk under a new id"};
  return {};
}

peer_roster::greeting
peer_roster::greet(const std::string& routing, const peer& from, const hello& said) {
  if (auto why = refuse(from, said))
    return {.refusal = std::move(why)};
  greeting answer;
  for (const auto& [other, one] : sessions_) {
    if (one.node != said.node || one.lane != said.lane || other == routing)
      continue;
    if (one.number >= said.session)
      return {
        .refusal = closing{closing_reason::superseded, "a newer connection of this key exists"}};
    answer.replaced = ended_session{
      other,
      {closing_reason::superseded,
       "a newer connection of this coordinator began; if it has no other, a copy of its data "
       "directory runs elsewhere: stop the copy"}};
  }
  if (answer.replaced)
    sessions_.erase(answer.replaced->routing);
  disks_[said.node] = said.disk;
  sessions_[routing] = {said.node, said.lane, from.key, said.session};
  return answer;
}

std::optional<lane> peer_roster::hear(const std::string& routing, const peer& from) const {
  auto found = sessions_.find(routing);
  if (found == sessions_.end() || found->second.key != from.key)
    return std::nullopt;
  return found->second.lane;
}

std::vector<std::string> peer_roster::routings() const {
  std::vector<std::string> out;
  for (const auto& [routing, one] : sessions_)
    out.push_back(routing);
  return out;
}

} // namespace assay::peers
