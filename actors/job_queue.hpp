#pragma once
// The JOB QUEUE keeps the order of open jobs (src/jobs/order.hpp) and tells DISPATCHER which one of
// each model runs now and how many of its requests may be in flight. What it knows is the ledger's;
// a new one goes on at once.

#include "actors/interfaces.hpp"
#include "src/jobs/order.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <map>
#include <memory>

namespace assay {

struct job_queue_options {
  ledger_actor ledger;
  dispatcher_actor dispatcher;
};

class job_queue_state {
public:
  static constexpr auto name = "job-queue";

  explicit job_queue_state(job_queue_actor::pointer self) : self_{self} {}

  void begin(job_queue_options options);
  using promise = caf::typed_response_promise<job_wish_answer>;
  void take(const job_wish& what, promise answer);
  job_answer answer(const job_question& what) const;
  void learn(const tables_changed& what);
  void learn(const pool_changed& what);
  void pass();

private:
  /// An end that somebody asked for and that is not on record yet.
  struct ending {
    wind_up_job what;
    steady_time again; ///< When DISPATCHER is told again: its proposal may have been refused.
    std::vector<promise> askers;
  };

  void plan();
  void end(const job_id& id, jobs::event what, const std::string& why);
  void answer_wishes();

  job_queue_actor::pointer self_;
  job_queue_options options_;
  tables_changed tables_;
  std::map<pool_id, std::shared_ptr<const pool::pool_view>> views_;
  std::map<job_id, std::uint32_t> windows_; ///< Last given; jobs that run.
  std::map<job_id, std::string> why_;
  jobs::usage used_;
  std::map<job_id, std::uint32_t> left_;
  std::map<job_id, ending> endings_;
};

job_queue_actor::behavior_type job_queue_behavior(
  job_queue_actor::stateful_pointer<job_queue_state> self, job_queue_options options
);

} // namespace assay
