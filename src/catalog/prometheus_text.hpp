#pragma once
// The samples of a Prometheus (or OpenMetrics) text, one by one, as an engine wrote them.
//
// Tolerant: a line that is no sample is passed over, since one bad line of an engine must not hide
// the other signals. Bounded: at most `limits::scrape_bytes` are read.

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::catalog {

struct metric_sample {
  std::string_view name;
  std::vector<std::pair<std::string_view, std::string>> labels; ///< Values without escapes.
  double value = 0; ///< May be infinite or not a number.

  /// Empty when there is no such label.
  std::string_view label(std::string_view wanted) const;
};

void for_each_sample(std::string_view text, const std::function<void(const metric_sample&)>& visit);

} // namespace assay::catalog
