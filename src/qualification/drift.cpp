#include "src/qualification/drift.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace assay::qualification {

namespace {

std::string hosts_text(const std::vector<host_id>& hosts) {
  std::string text;
  for (const auto& host : hosts)
    text += (text.empty() ? "" : ", ") + host.value;
  return text;
}

std::string why_of(const drift_verdict& v, bool suspend_on_drift) {
  auto what = fmt::format("{} runs a stack that is not qualified", hosts_text(v.drifted));
  if (v.serving.empty())
    return what + "; no replica on a qualified stack is left";
  if (suspend_on_drift)
    return what + "; the policy suspends on any drift";
  return fmt::format("{}; {} replicas on qualified stacks serve on", what, v.serving.size());
}

} // namespace

bool is_member(const digest& fingerprint, const std::vector<digest>& qualified) {
  return std::find(qualified.begin(), qualified.end(), fingerprint) != qualified.end();
}

drift_verdict drift_of(
  const std::vector<seen_replica>& live, const std::vector<digest>& qualified, bool suspend_on_drift
) {
  drift_verdict v;
  for (const auto& seen : live) {
    if (is_member(seen.fingerprint, qualified)) {
      v.serving.push_back(seen.replica);
      continue;
    }
    v.leaving.push_back(seen.replica);
    if (std::find(v.drifted.begin(), v.drifted.end(), seen.host) == v.drifted.end())
      v.drifted.push_back(seen.host);
  }
  if (v.leaving.empty())
    return v;
  v.suspend = v.serving.empty() || suspend_on_drift;
  v.why = why_of(v, suspend_on_drift);
  return v;
}

} // namespace assay::qualification
