#pragma once
// The actors that only the ledger's leader has, for one term: EVALUATOR, MOVER, JOB QUEUE,
// DISPATCHER, SUPERVISOR and what that makes.
//
// They begin with the tables and what agents and ingresses report, and end with the term: what they
// had under way is known from the ledger to whoever leads next.

#include "actors/interfaces_peers.hpp"
#include "actors/node_link.hpp"
#include "src/app/errands.hpp"

#include <caf/actor_system.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace assay::app {

struct leading_options {
  std::uint64_t term = 0;
  std::uint64_t node = 0; ///< Our own.
  ledger_actor ledger;
  ingress_actor router;
  service_links_actor service;                        ///< None in a standalone.
  std::function<std::vector<ingress_id>()> ingresses; ///< Of the whole group.
  app::errands* errands = nullptr;                    ///< Outlives the actors.
  agent_sender send;
  std::function<void(const std::string& why)> stop_process;
};

class leading {
public:
  leading(caf::actor_system& system, const leading_options& options);
  /// Tells the actors to end and does not wait for them.
  ~leading();
  leading(const leading&) = delete;
  leading& operator=(const leading&) = delete;

  const std::uint64_t term;
  evaluator_actor evaluator;
  mover_actor mover;
  dispatcher_actor dispatcher;
  job_queue_actor jobs;
  supervisor_actor supervisor;
};

/// What leads here now, for those who come from other threads.
class leading_slot {
public:
  std::shared_ptr<leading> get() const {
    std::lock_guard hold{mutex_};
    return now_;
  }
  void set(std::shared_ptr<leading> next) {
    std::lock_guard hold{mutex_};
    now_.swap(next);
  }

private:
  mutable std::mutex mutex_;
  std::shared_ptr<leading> now_;
};

} // namespace assay::app
