#pragma once
// What a move would change: the route's shares before and after, and how to undo it. `assay
// promote` is a one-step move with the default plan made here.
//
// The default plan: production implementations share what canaries leave, a canary gets a fixed
// small share of both classes, a batch-only implementation carries batch alone.

#include "src/base/ids.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/catalog/declarations.hpp"
#include "src/moves/vectors.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay::moves {

/// How a move is undone. The first target that is valid when it is needed is taken; after the last
/// one a person is called.
struct inverse_plan {
  std::vector<vectors> targets; ///< Best first: the vectors before, then what is left of them.
  bool shed_load = true; ///< After the targets: carry nothing rather than something unproven.
  bool reversible = true;
  std::string irreversible_because; ///< Only when not reversible; then one more person approves.

  friend bool operator==(const inverse_plan&, const inverse_plan&) = default;
};

struct plan {
  model_id model;
  std::uint64_t expected_generation = 0; ///< Of the route; 0: it does not exist yet.
  vectors before;
  vectors after;
  inverse_plan inverse;
  std::optional<move_id> inverse_of; ///< This move undoes that one.
  std::chrono::milliseconds hold{};  ///< At the step, before it is observed.
  std::chrono::milliseconds bake{};  ///< Observed, before it is committed.
  bool guarded = false;              ///< Guards must pass to go on; no data holds.

  friend bool operator==(const plan&, const plan&) = default;
};

struct promotion_options {
  std::optional<std::uint32_t> share; ///< Of a canary, in 10,000 parts; 500 unless said.
  std::chrono::milliseconds hold{};
  std::chrono::milliseconds bake{};
  bool guarded = false;
};

inline constexpr std::uint32_t canary_share = 500;

/// `wanted` is production, canary or batch-only; suspended, retired and draft take the
/// implementation out of the route. Refused, with what to do: nothing would change, a canary beside
/// nothing, a removal that would leave only canaries, canaries that leave nothing for production.
result<plan, problem> plan_promotion(
  const route& now,
  const implementation_id& implementation,
  catalog::implementation_status wanted,
  const promotion_options& how = {}
);

/// What a committed move changed, back again. `move_generation` is the route's generation that the
/// move's last step made: refused when the route changed since, because undoing an older move would
/// undo the later ones silently.
result<plan, problem> plan_inverse(
  const move_id& undone, const plan& committed, std::uint64_t move_generation, const route& now
);

/// `VECTORS` as people read it: `interactive A 95 %, B 5 %; batch A 100 %`.
std::string to_text(const vectors& v);

} // namespace assay::moves
