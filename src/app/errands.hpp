#pragma once
// What EVALUATOR and DISPATCHER have done for them on threads that may block: requests to an
// ingress, like any client's but with internal keys, and blobs.

#include "actors/evaluator.hpp"
#include "src/app/blob_keeper.hpp"
#include "src/base/worker_pool.hpp"
#include "src/http/client.hpp"
#include "src/jobs/items.hpp"

#include <functional>
#include <optional>
#include <string>

namespace assay::app {

struct errand_keys {
  std::string evaluator;
  std::string dispatcher;
};

class errands {
public:
  /// `door` says where an ingress is, each time; nothing: none can be reached now.
  using door = std::function<std::optional<http::client_address>()>;
  errands(door ingress, errand_keys keys, store::blob_store& blobs, blob_keeper& keeper);

  // Each calls `done` once, from a thread of its own. From any thread.

  void evaluate(
    const qualification::ask& what,
    const ask_target& where,
    std::function<void(qualification::run_event)> done
  );
  void request(const jobs::request& what, std::function<void(item_answered)> done);
  /// On a majority, so that a record may name it.
  void keep(std::string bytes, std::function<void(result<digest, problem>)> done);
  /// From our disk, or else from another coordinator.
  void read(const digest& blob, std::function<void(result<std::string, problem>)> done);

private:
  door ingress_;
  errand_keys keys_;
  store::blob_store* blobs_;
  blob_keeper* keeper_;
  worker_pool evaluating_;
  worker_pool dispatching_;
  worker_pool disk_;
};

} // namespace assay::app
