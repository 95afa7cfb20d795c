#include "src/consensus/membership.hpp"

#include "src/base/overloaded.hpp"
#include "src/consensus/configuration.hpp"

#include <algorithm>

namespace assay::consensus {

namespace {

using outcome = result<configuration, std::string_view>;

outcome refused(std::string_view why) {
  return unexpected{why};
}

outcome added(const configuration& before, member who, member_role role) {
  if (who.id == 0)
    return refused("a member needs an id other than 0");
  for (const auto& m : before)
    if (m.id == who.id || m.address == who.address)
      return refused("a member has that id or that address already");
  if (before.size() == members_max)
    return refused("64 members are as many as there can be");
  auto after = before;
  who.role = role;
  after.push_back(std::move(who));
  return after;
}

outcome promoted(const configuration& before, std::uint64_t id) {
  auto after = before;
  for (auto& m : after)
    if (m.id == id && m.role != member_role::voter) {
      m.role = member_role::voter;
      return after;
    }
  return refused("only a member without a vote can be promoted");
}

outcome removed(const configuration& before, std::uint64_t id) {
  const auto* who = find_member(before, id);
  if (who == nullptr)
    return refused("there is no member with that id");
  if (who->role == member_role::voter && voters_of(before) == 1)
    return refused("the last voter cannot be removed");
  auto after = before;
  std::erase_if(after, [&](const member& m) { return m.id == id; });
  return after;
}

} // namespace

outcome changed(const configuration& before, const membership_change& how) {
  return std::visit(
    overloaded{
      [&](const add_spare& c) { return added(before, c.who, member_role::spare); },
      [&](const add_standby& c) { return added(before, c.who, member_role::standby); },
      [&](const promote& c) { return promoted(before, c.id); },
      [&](const remove_member& c) { return removed(before, c.id); },
    },
    how
  );
}

bool is_one_change(const configuration& before, const configuration& after) {
  const auto& wide = before.size() >= after.size() ? before : after;
  const auto& narrow = before.size() >= after.size() ? after : before;
  if (wide.size() - narrow.size() > 1)
    return false;
  auto differs = std::mismatch(narrow.begin(), narrow.end(), wide.begin(), wide.end());
  if (wide.size() > narrow.size())
    return std::equal(differs.first, narrow.end(), differs.second + 1, wide.end());
  if (differs.first == narrow.end())
    return true;
  return differs.first->id == differs.second->id
         && std::equal(differs.first + 1, narrow.end(), differs.second + 1, wide.end());
}

const member* find_member(const configuration& in, std::uint64_t id) {
  auto at = std::find_if(in.begin(), in.end(), [&](const member& m) { return m.id == id; });
  return at == in.end() ? nullptr : &*at;
}

std::size_t voters_of(const configuration& in) {
  return static_cast<std::size_t>(std::count_if(in.begin(), in.end(), [](const member& m) {
    return m.role == member_role::voter;
  }));
}

std::uint64_t promoted_between(const configuration& before, const configuration& after) {
  for (const auto& m : after) {
    const auto* was = find_member(before, m.id);
    bool had_vote = was != nullptr && was->role == member_role::voter;
    if (m.role == member_role::voter && !had_vote)
      return m.id;
  }
  return 0;
}

} // namespace assay::consensus
