#pragma once
// Which implementation may carry which share of a model's traffic, as bounds in 10,000 parts.
//
// Within a floor and a ceiling the router chooses; where both are equal the share is fixed. What is
// here is what is stored: an implementation without current evidence has an effective ceiling of 0,
// which the ingress works out for itself.

#include "src/base/ids.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace assay::moves {

inline constexpr std::uint32_t whole = 10'000;

/// As what an implementation stands in a route; people read it as the implementation's status.
enum class standing : std::uint8_t { production, canary, batch_only };

struct share {
  implementation_id implementation;
  moves::standing standing = standing::production;
  std::uint32_t floor = 0;
  std::uint32_t ceiling = 0;

  friend bool operator==(const share&, const share&) = default;
};

/// The shares of each class of service, sorted by implementation. An empty list means that the
/// route carries nothing of that class. Evaluation is pinned and shadow is copied: neither is here.
struct vectors {
  std::vector<share> interactive;
  std::vector<share> batch;

  friend bool operator==(const vectors&, const vectors&) = default;
};

/// A model's route. It exists from the first promotion; generation 0 stands for "none yet".
struct route {
  model_id model;
  std::uint64_t generation = 0;
  vectors carried;

  friend bool operator==(const route&, const route&) = default;
};

/// 0 <= floor <= ceiling <= 10,000; floors sum to at most, ceilings to at least 10,000 in a class
/// that has any; each implementation once per class; sorted.
result<void, problem> validate(const vectors& v);

/// Every implementation with a ceiling above 0 in some class, sorted, each once.
std::vector<implementation_id> carriers(const vectors& v);

/// How `implementation` stands in the route; nothing when it carries no class.
std::optional<standing> standing_of(const vectors& v, const implementation_id& implementation);

bool carries_anything(const vectors& v);

std::string_view name(standing s);
std::optional<standing> parse_standing(std::string_view text);

} // namespace assay::moves
