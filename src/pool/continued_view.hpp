#pragma once
// A pool as one ingress shows it while its coordinator moves to another process.
//
// A new coordinator knows no replica before its agent has come to it, but the replicas serve on.
// So what took traffic by the word of an earlier epoch stays until the new coordinator lists it, or
// for `limits::unwatched`, as long as replicas serve while their agent is silent. Words of an
// earlier epoch change nothing.

#include "src/base/clock.hpp"
#include "src/pool/view.hpp"

#include <memory>
#include <vector>

namespace assay::pool {

class continued_view {
public:
  /// False: it is of an earlier epoch than what is shown, and nothing changed.
  bool learn(std::shared_ptr<const pool_view> next, steady_time now);

  /// Whether something is shown no more.
  bool pass(steady_time now);

  /// Null before the first view.
  const std::shared_ptr<const pool_view>& shown() const { return shown_; }

private:
  void carry_on(steady_time now);
  void show();

  std::shared_ptr<const pool_view> newest_;
  std::vector<replica_view> carried_; ///< Of an earlier epoch, and not listed yet.
  steady_time carried_until_{};
  std::shared_ptr<const pool_view> shown_;
};

} // namespace assay::pool
