#pragma once
// Drift belongs to a host: a replica whose stack is not in the qualified set serves evaluation
// only. The qualification itself is suspended when no replica on a qualified stack is left, or at
// once when the policy says so.

#include "src/base/digest.hpp"
#include "src/base/ids.hpp"
#include "src/qualification/life.hpp"

#include <optional>
#include <string>
#include <vector>

namespace assay::qualification {

/// Gate 5: membership of the set, nothing fuzzier.
bool is_member(const digest& fingerprint, const std::vector<digest>& qualified);

/// A live replica and the stack it runs on, as its agent reported it last.
struct seen_replica {
  replica_id replica;
  host_id host;
  digest fingerprint;
};

struct drift_verdict {
  std::vector<replica_id> serving; ///< May serve every class.
  std::vector<replica_id> leaving; ///< Evaluation only, from now on.
  std::vector<host_id> drifted;    ///< Their hosts, each once.
  bool suspend = false;
  std::string why; ///< For the record; empty when nothing drifted.
};

/// No live replica at all is no drift: nothing was seen that differs.
drift_verdict drift_of(
  const std::vector<seen_replica>& live, const std::vector<digest>& qualified, bool suspend_on_drift
);

} // namespace assay::qualification
