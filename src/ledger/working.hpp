#pragma once
// Between the ledger's rows of jobs and what src/jobs decides about them. Pure.

#include "src/jobs/checkpoint.hpp"
#include "src/jobs/job.hpp"
#include "src/jobs/order.hpp"
#include "src/ledger/tables.hpp"
#include "src/pool/view.hpp"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace assay::ledger {

jobs::spec spec_of(const job_row& row);

/// Stored checkpoints in order, as `runner::resume` wants them.
std::vector<jobs::checkpoint> stored_checkpoints(const tables& t, const job_id& job);

job_checkpoint entry_of(const job_id& job, const jobs::checkpoint& c, const digest& blob);

/// Jobs that have not ended, for `jobs::order`.
std::vector<jobs::waiting_job> waiting_jobs(const tables& t);

/// Open jobs whose time is over.
std::vector<job_id> overdue_jobs(const tables& t, wall_ms now);

jobs::state state_of(job_end end);

/// How the job ended, and what it left.
job_ended
end_of(const job_id& job, jobs::event what, const std::string& why, const jobs::progress& done);

/// Slots that may serve batch of this model, and what interactive traffic uses of them.
/// `batch_in_flight` are our own requests, which the views count too.
jobs::slots_seen slots_for(
  const tables& t,
  const std::map<pool_id, std::shared_ptr<const pool::pool_view>>& pools,
  const model_id& model,
  std::uint32_t batch_in_flight
);

/// Every blob that the ledger names: inputs and outputs of jobs, evidence of runs. Some come more
/// than once.
void for_each_blob(const tables& t, const std::function<void(const digest&)>& take);

/// Whether both surely name the same: one version of the tables follows the other and touched no
/// row that names a blob.
bool names_same_blobs(const tables& a, const tables& b);

/// The route or the implementation that a batch request of this model would meet: nothing, and a
/// sentence why, when none may carry batch.
std::string why_no_batch(const tables& t, const model_id& model, wall_ms now);

} // namespace assay::ledger
