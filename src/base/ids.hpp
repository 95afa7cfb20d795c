#pragma once
// Names of things. A pool_id cannot be passed where a host_id is wanted, and none converts to text
// by itself: ask for `.value`.

#include <compare>
#include <cstddef>
#include <functional>
#include <string>

namespace assay {

/// A string that remembers what it names.
template <class Tag>
struct id {
  std::string value;

  friend auto operator<=>(const id&, const id&) = default;
};

using model_id = id<struct model_tag>; ///< `NAME` for version 1, else `NAME@VERSION`.
using pool_id = id<struct pool_tag>;
using artifact_id =
  id<struct artifact_tag>; ///< `MODEL/ARTIFACT`: artifact names are scoped to their model.
using profile_id = id<struct profile_tag>;
using implementation_id =
  id<struct implementation_tag>; ///< `MODEL[@VERSION]/POOL/ARTIFACT[#PROFILE]`.
using suite_id = id<struct suite_tag>;
using policy_id = id<struct policy_tag>;
using project_id = id<struct project_tag>;
using key_id = id<struct key_tag>; ///< The key's public name, never its secret.
using host_id = id<struct host_tag>;
using replica_id =
  id<struct replica_tag>; ///< `IMPLEMENTATION/NUMBER@HOST`, unique for ever by its generation.
using job_id = id<struct job_tag>;
using move_id = id<struct move_tag>;
using qualification_id = id<struct qualification_tag>;
using ingress_id = id<struct ingress_tag>;
using decision_id = id<struct decision_tag>; ///< `INGRESS-BOOT-POSITION`.

} // namespace assay

template <class Tag>
struct std::hash<assay::id<Tag>> {
  std::size_t operator()(const assay::id<Tag>& id) const noexcept {
    return std::hash<std::string>{}(id.value);
  }
};
