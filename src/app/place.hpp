#pragma once
// The place of this assayd in a cluster: which cluster, which member, whom to dial before the
// ledger is here. Written once, by `assay cluster init` or `join`, to DIR/member.json (0600).
//
// A directory without it belongs to no cluster yet. A standalone has none: it is always member 1 of
// its own.

#include "src/base/problem.hpp"
#include "src/base/result.hpp"
#include "src/base/uuid.hpp"
#include "src/fabric/peer_links.hpp"
#include "src/store/data_directory.hpp"

#include <optional>
#include <string>
#include <vector>

namespace assay::app {

struct place {
  uuid cluster;
  std::string cluster_name;
  std::uint64_t node = 0;
  std::string name;
  std::vector<peers::peer> first_peers; ///< As of the joining; the ledger's list replaces them.

  friend bool operator==(const place&, const place&) = default;
};

/// Nothing: this directory belongs to no cluster yet.
result<std::optional<place>, problem> read_place(const store::data_directory& directory);
result<void, problem> write_place(const store::data_directory& directory, const place& what);

} // namespace assay::app
