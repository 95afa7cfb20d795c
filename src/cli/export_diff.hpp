#pragma once
// Two exports beside each other. Each is audited first; then they hold the same records, or one is
// a prefix of the other, or they part somewhere, which no two copies of one ledger do.

#include "src/base/clock.hpp"
#include "src/base/digest.hpp"
#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/base/uuid.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay::cli {

struct record_line {
  std::uint64_t seq = 0;
  wall_ms stamped_at;
  std::string kind, summary, author;
};

/// One export, as far as another is compared with it.
struct side {
  static constexpr std::size_t beyond_most = 20;

  std::string file;
  uuid cluster;
  std::vector<digest> chains;      ///< Behind record n at n - 1.
  std::vector<record_line> beyond; ///< The first records behind what is common.
};

struct comparison {
  side a, b;
  std::uint64_t common = 0; ///< Records from the first on that both hold.

  bool is_of_one_cluster() const { return a.cluster == b.cluster; }
  /// At record `common + 1`.
  bool parts() const { return common < a.chains.size() && common < b.chains.size(); }
  std::uint64_t more(const side& s) const { return s.chains.size() - common; }
};

/// A problem when one of them does not hold.
result<comparison, problem> compare_exports(const std::string& a, const std::string& b);

/// Why the two cannot both be copies of one ledger, when they cannot.
std::optional<problem> contradiction(const comparison& c);

} // namespace assay::cli
