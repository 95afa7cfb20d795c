#include "node-agent/families/watched_family.hpp"

#include <algorithm>

namespace assay::agent {

watched_family::watched_family(family_plan plan)
  : plan_{std::move(plan)}, child_{plan_.probe}, book_{plan_.family, plan_.inherited} {}

family_state watched_family::look() {
  auto answer = child_.ask(probe_question, plan_.patience);
  auto read = answer ? parse_look(catalog::name(plan_.family), *answer)
                     : result<family_look, problem>{unexpected{answer.error()}};
  // What a broken library has loaded is only gone with its process.
  if (answer && (!read || !read->fault.empty()))
    child_.retire();
  std::lock_guard guard{mutex_};
  if (read)
    book_.learn(*read, plan_.is_ours);
  else
    book_.miss(read.error().what);
  return state();
}

family_state watched_family::known() const {
  std::lock_guard guard{mutex_};
  return state();
}

family_state watched_family::state() const {
  return {
    book_.devices(),
    book_.stack(),
    book_.samples(),
    {book_.events().begin(), book_.events().end()}};
}

void watched_family::forgive(wall_ms before) {
  std::lock_guard guard{mutex_};
  book_.forgive(before);
}

bool watched_family::has_devices() const {
  std::lock_guard guard{mutex_};
  return !book_.devices().empty();
}

std::optional<result<device_binding_env, problem>> watched_family::bind(
  const catalog::runtime_profile& profile, const std::vector<std::string>& ids
) const {
  std::lock_guard guard{mutex_};
  auto all = book_.devices();
  auto is_mine = [&](const std::string& id) {
    return std::ranges::find(all, id, &fabric::device::id) != all.end();
  };
  if (std::ranges::none_of(ids, is_mine))
    return {};
  return book_.bind(profile, ids);
}

result<device_binding_env, problem> bind_among(
  const std::vector<std::shared_ptr<watched_family>>& families,
  const catalog::runtime_profile& profile,
  const std::vector<std::string>& ids
) {
  device_binding_env bound;
  for (const auto& one : families) {
    auto mine = ids.empty() ? std::nullopt : one->bind(profile, ids);
    if (!mine) {
      // A replica finds no device that it was not given, of whatever family.
      if (one->has_devices())
        bound.variables.merge(hide_devices(one->family()));
      continue;
    }
    if (!*mine)
      return unexpected{mine->error()};
    bound.mask = (*mine)->mask;
    for (const auto& [name, value] : (*mine)->variables)
      bound.variables[name] = value;
  }
  if (!ids.empty() && bound.mask.empty())
    return unexpected{problem{
      problem_kind::refused,
      "device " + ids.front() + " is not one that this agent was given",
      "devices",
      "assay host show HOST lists its devices"}};
  return bound;
}

} // namespace assay::agent
