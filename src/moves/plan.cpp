#include "src/moves/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace assay::moves {

namespace {

/// An implementation's part in a route, from which the shares are worked out anew.
struct part {
  implementation_id implementation;
  moves::standing standing = standing::production;
  std::uint32_t fixed = 0; ///< A canary's share.
};

using parts = std::vector<part>; ///< Sorted by implementation.

problem refuse(std::string what, std::string next) {
  return {problem_kind::refused, std::move(what), {}, std::move(next)};
}

bool is_before(const part& a, const part& b) {
  return a.implementation < b.implementation;
}

void add(parts& into, part p) {
  into.insert(std::lower_bound(into.begin(), into.end(), p, is_before), std::move(p));
}

void remove(parts& from, const implementation_id& id) {
  std::erase_if(from, [&](const part& p) { return p.implementation == id; });
}

parts parts_of(const vectors& v) {
  parts all;
  for (const auto* shares : {&v.interactive, &v.batch})
    for (const auto& s : *shares) {
      const bool known = std::any_of(all.begin(), all.end(), [&](const part& p) {
        return p.implementation == s.implementation;
      });
      if (!known && s.ceiling > 0)
        add(all, {s.implementation, s.standing, s.standing == standing::canary ? s.ceiling : 0});
    }
  return all;
}

bool carries(const part& p, bool batch) {
  return batch || p.standing != standing::batch_only;
}

/// The shares of one class: canaries keep their fixed part, the others share the rest, one alone
/// as a fixed share and several as they are chosen by the route's policy.
std::vector<share> shares_of(const parts& all, bool batch) {
  std::uint32_t fixed = 0;
  std::size_t open = 0;
  for (const auto& p : all) {
    fixed += p.standing == standing::canary ? p.fixed : 0;
    open += p.standing != standing::canary && carries(p, batch) ? 1 : 0;
  }
  if (open == 0) // Canaries beside nothing carry nothing.
    return {};
  const auto rest = whole - fixed;
  std::vector<share> shares;
  for (const auto& p : all) {
    if (!carries(p, batch))
      continue;
    const bool canary = p.standing == standing::canary;
    const auto ceiling = canary ? p.fixed : rest;
    const auto floor = canary || open == 1 ? ceiling : 0;
    shares.push_back({p.implementation, p.standing, floor, ceiling});
  }
  return shares;
}

vectors vectors_of(const parts& all) {
  return {shares_of(all, false), shares_of(all, true)};
}

/// What keeps these parts from being a route.
result<void, problem> check_parts(const parts& all) {
  std::uint64_t fixed = 0;
  bool production = false;
  bool canary = false;
  for (const auto& p : all) {
    fixed += p.fixed;
    canary = canary || p.standing == standing::canary;
    production = production || p.standing == standing::production;
  }
  if (canary && !production)
    return unexpected{refuse(
      "a canary would stand beside no production implementation",
      "promote one to production first: assay promote IMPLEMENTATION --status production"
    )};
  if (canary && fixed >= whole)
    return unexpected{refuse(
      fmt::format("canaries would take {} of 10000 parts and leave production nothing", fixed),
      "give the canary a smaller share, or take another canary out of the route"
    )};
  return {};
}

std::optional<standing> standing_for(catalog::implementation_status wanted) {
  switch (wanted) {
  case catalog::implementation_status::production:
    return standing::production;
  case catalog::implementation_status::canary:
    return standing::canary;
  case catalog::implementation_status::batch_only:
    return standing::batch_only;
  default:
    return std::nullopt;
  }
}

/// `before` first, then what is left of it when one of its implementations cannot come back.
inverse_plan inverse_of(const vectors& before) {
  inverse_plan plan;
  plan.targets.push_back(before);
  for (const auto& id : carriers(before)) {
    auto rest = parts_of(before);
    remove(rest, id);
    const auto v = vectors_of(rest);
    if (carries_anything(v) && check_parts(rest))
      plan.targets.push_back(v);
  }
  return plan;
}

std::string percent(std::uint32_t parts) {
  if (parts % 100 == 0)
    return fmt::format("{} %", parts / 100);
  return fmt::format("{}.{:02} %", parts / 100, parts % 100);
}

std::string class_text(std::string_view name, const std::vector<share>& shares) {
  if (shares.empty())
    return fmt::format("{} nothing", name);
  std::string text{name};
  for (const auto& s : shares) {
    const auto amount = s.floor == s.ceiling
                          ? percent(s.floor)
                          : fmt::format("{} to {}", percent(s.floor), percent(s.ceiling));
    text +=
      fmt::format("{} {} {}", &s == &shares.front() ? "" : ",", s.implementation.value, amount);
  }
  return text;
}

} // namespace

result<plan, problem> plan_promotion(
  const route& now,
  const implementation_id& implementation,
  catalog::implementation_status wanted,
  const promotion_options& how
) {
  auto all = parts_of(now.carried);
  const bool carried = standing_of(now.carried, implementation).has_value();
  remove(all, implementation);
  const auto to = standing_for(wanted);
  if (!to && !carried)
    return unexpected{refuse(
      fmt::format("{} carries nothing, so there is nothing to take away", implementation.value),
      "assay get implementations shows what carries traffic"
    )};
  if (to)
    add(all, {implementation, *to, *to == standing::canary ? how.share.value_or(canary_share) : 0});
  if (to == standing::canary && (how.share == 0 || how.share.value_or(0) >= whole))
    return unexpected{refuse(
      fmt::format("a canary cannot have {} of 10000 parts", *how.share),
      "give it 1 to 9999; 500 is 5 %"
    )};
  if (auto ok = check_parts(all); !ok)
    return unexpected{ok.error()};
  plan p;
  p.model = now.model;
  p.expected_generation = now.generation;
  p.before = now.carried;
  p.after = vectors_of(all);
  if (p.after == p.before)
    return unexpected{refuse(
      fmt::format(
        "{} is {} already and nothing would change", implementation.value, catalog::name(wanted)
      ),
      "assay explain shows how traffic is shared now"
    )};
  p.inverse = inverse_of(p.before);
  p.hold = how.hold;
  p.bake = how.bake;
  p.guarded = how.guarded;
  return p;
}

result<plan, problem> plan_inverse(
  const move_id& undone, const plan& committed, std::uint64_t move_generation, const route& now
) {
  if (now.generation != move_generation)
    return unexpected{refuse(
      fmt::format(
        "the route of {} was changed after move {}: it is at generation {}, the move made {}",
        now.model.value,
        undone.value,
        now.generation,
        move_generation
      ),
      "reverse the later moves first, the last one before the others"
    )};
  if (!committed.inverse.reversible)
    return unexpected{refuse(
      fmt::format(
        "move {} cannot be undone: {}", undone.value, committed.inverse.irreversible_because
      ),
      "promote what you want instead"
    )};
  plan p;
  p.model = now.model;
  p.expected_generation = now.generation;
  p.before = now.carried;
  p.after = committed.before;
  p.inverse = inverse_of(p.before);
  p.inverse_of = undone;
  return p;
}

std::string to_text(const vectors& v) {
  return class_text("interactive", v.interactive) + "; " + class_text("batch", v.batch);
}

} // namespace assay::moves
