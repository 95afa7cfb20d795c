#include "src/moves/vectors.hpp"

#include <algorithm>

namespace assay::moves {

namespace {

problem wrong(std::string_view traffic, std::string what) {
  return {
    problem_kind::invalid,
    std::move(what),
    "route, class " + std::string{traffic},
    "shares are 10,000 parts: 0 <= floor <= ceiling <= 10000, floors sum to at most 10000, "
    "ceilings to at least 10000, each implementation once and in order",
  };
}

std::string in_quotes(const implementation_id& id) {
  return "\"" + id.value + "\"";
}

result<void, problem> validate_class(std::string_view traffic, const std::vector<share>& shares) {
  std::uint64_t floors = 0;
  std::uint64_t ceilings = 0;
  const share* before = nullptr;
  for (const auto& s : shares) {
    if (s.floor > s.ceiling || s.ceiling > whole)
      return unexpected{wrong(
        traffic,
        in_quotes(s.implementation) + " has floor " + std::to_string(s.floor) + " and ceiling "
          + std::to_string(s.ceiling)
      )};
    if (before && !(before->implementation < s.implementation))
      return unexpected{wrong(traffic, in_quotes(s.implementation) + " is twice or out of order")};
    floors += s.floor;
    ceilings += s.ceiling;
    before = &s;
  }
  if (floors > whole)
    return unexpected{wrong(traffic, "the floors sum to " + std::to_string(floors))};
  if (!shares.empty() && ceilings < whole)
    return unexpected{wrong(traffic, "the ceilings sum to " + std::to_string(ceilings))};
  return {};
}

} // namespace

result<void, problem> validate(const vectors& v) {
  if (auto ok = validate_class("interactive", v.interactive); !ok)
    return ok;
  return validate_class("batch", v.batch);
}

std::vector<implementation_id> carriers(const vectors& v) {
  std::vector<implementation_id> all;
  for (const auto* shares : {&v.interactive, &v.batch})
    for (const auto& s : *shares)
      if (s.ceiling > 0)
        all.push_back(s.implementation);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::optional<standing> standing_of(const vectors& v, const implementation_id& implementation) {
  for (const auto* shares : {&v.interactive, &v.batch})
    for (const auto& s : *shares)
      if (s.implementation == implementation && s.ceiling > 0)
        return s.standing;
  return std::nullopt;
}

bool carries_anything(const vectors& v) {
  return !v.interactive.empty() || !v.batch.empty();
}

std::string_view name(standing s) {
  constexpr std::string_view names[] = {"production", "canary", "batch-only"};
  return names[static_cast<std::size_t>(s)];
}

std::optional<standing> parse_standing(std::string_view text) {
  for (auto s : {standing::production, standing::canary, standing::batch_only})
    if (name(s) == text)
      return s;
  return std::nullopt;
}

} // namespace assay::moves
