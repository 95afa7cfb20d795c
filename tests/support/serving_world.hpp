#pragma once
// A small world to serve in: one model, its implementations with one endpoint each, and keys.

#include "src/pool/counters.hpp"
#include "src/routing/snapshot.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace assay::tests {

inline constexpr std::string_view test_key = "sk-test-interactive";
inline constexpr std::string_view evaluation_key = "sk-test-evaluation";

struct served_endpoint {
  std::uint16_t port = 0;
  std::uint32_t credits = 1'000;
  std::string secret = "replica-secret";
  std::string served_name{}; ///< Empty: as the model is called.
};

class serving_world {
public:
  explicit serving_world(std::vector<served_endpoint> endpoints)
    : endpoints_{std::move(endpoints)} {}

  contract::service_contract promises;
  routing::bits operations = routing::usual_operations(); ///< Of every implementation.

  /// The model `small` version 1, served by `small/pool-N/weights`, all shares open.
  std::shared_ptr<const routing::routing_snapshot> snapshot();

  std::shared_ptr<pool::endpoint_counters> counters(std::size_t endpoint);
  void grant(std::size_t endpoint, std::uint32_t credits);

private:
  pool::endpoint_key key_of(std::size_t endpoint) const;

  std::vector<served_endpoint> endpoints_;
  pool::endpoint_registry registry_;
  std::uint64_t generation_ = 0;
};

} // namespace assay::tests
