#include "src/ledger/working.hpp"

#include "src/base/limits.hpp"
#include "src/ledger/status.hpp"

#include <algorithm>

namespace assay::ledger {

namespace {

jobs::priority priority_of(job_priority p) {
  switch (p) {
  case job_priority::urgent:
    return jobs::priority::urgent;
  case job_priority::backfill:
    return jobs::priority::backfill;
  case job_priority::normal:
    break;
  }
  return jobs::priority::normal;
}

} // namespace

jobs::spec spec_of(const job_row& row) {
  return {
    .id = row.job.id,
    .project = row.job.project,
    .key = row.job.key,
    .model = row.job.model.value,
    .priority = priority_of(row.job.priority),
    .input = row.job.input,
    .submitted_at = row.submitted_at,
    .expires_at = {row.submitted_at.value + std::chrono::milliseconds{limits::job_life}.count()},
  };
}

std::vector<jobs::checkpoint> stored_checkpoints(const tables& t, const job_id& job) {
  std::vector<jobs::checkpoint> stored;
  for (const auto& c : checkpoints_of(t, job))
    stored.push_back({
      .number = static_cast<std::uint32_t>(stored.size()),
      .first = static_cast<std::uint32_t>(c.first),
      .end = static_cast<std::uint32_t>(c.first + c.count),
      .blob = c.output,
      .good = static_cast<std::uint32_t>(c.succeeded),
    });
  return stored;
}

job_checkpoint entry_of(const job_id& job, const jobs::checkpoint& c, const digest& blob) {
  return {
    .job = job,
    .first = c.first,
    .count = c.end - c.first,
    .succeeded = c.good,
    .failed = c.end - c.first - c.good,
    .output = blob,
    .errors = {},
  };
}

std::vector<jobs::waiting_job> waiting_jobs(const tables& t) {
  std::vector<jobs::waiting_job> waiting;
  for (const auto& [id, row] : *t.jobs) {
    if (row.ended)
      continue;
    std::uint64_t done = 0;
    for (const auto& c : checkpoints_of(t, id))
      done += c.count;
    waiting.push_back({
      .id = id,
      .project = row.job.project,
      .priority = priority_of(row.job.priority),
      .submitted_at = row.submitted_at,
      .items_left = static_cast<std::uint32_t>(row.job.items - std::min(done, row.job.items)),
    });
  }
  return waiting;
}

std::vector<job_id> overdue_jobs(const tables& t, wall_ms now) {
  std::vector<job_id> overdue;
  for (const auto& [id, row] : *t.jobs)
    if (!row.ended && now >= spec_of(row).expires_at)
      overdue.push_back(id);
  return overdue;
}

jobs::state state_of(job_end end) {
  return end == job_end::finished ? jobs::state::finished
         : end == job_end::failed ? jobs::state::failed
                                  : jobs::state::cancelled;
}

job_ended
end_of(const job_id& job, jobs::event what, const std::string& why, const jobs::progress& done) {
  job_ended ended{.id = job, .detail = why};
  ended.end = what == jobs::event::finish   ? job_end::finished
              : what == jobs::event::cancel ? job_end::cancelled
                                            : job_end::failed;
  ended.succeeded = done.good;
  ended.failed = done.next_item - done.good;
  return ended;
}

jobs::slots_seen slots_for(
  const tables& t,
  const std::map<pool_id, std::shared_ptr<const pool::pool_view>>& pools,
  const model_id& model,
  std::uint32_t batch_in_flight
) {
  jobs::slots_seen seen;
  std::uint32_t in_flight = 0;
  const auto* route = find(t.routes, model);
  if (!route)
    return seen;
  auto carries = [&](const implementation_id& id) {
    return std::ranges::any_of(route->route.carried.batch, [&](const moves::share& s) {
      return s.implementation == id && s.ceiling > 0;
    });
  };
  for (const auto& [name, view] : pools) {
    auto is_used = false;
    for (const auto& replica : view->replicas) {
      if (!replica.takes_traffic || !carries(replica.implementation))
        continue;
      is_used = true;
      seen.slots += replica.slots;
      in_flight += replica.in_flight;
    }
    if (is_used)
      seen.interactive_waiting +=
        view->queue.waiting[static_cast<std::size_t>(contract::traffic_class::interactive)];
  }
  seen.interactive_in_flight = in_flight - std::min(in_flight, batch_in_flight);
  return seen;
}

void for_each_blob(const tables& t, const std::function<void(const digest&)>& take) {
  auto named = [&](const digest& blob) {
    if (blob != digest{})
      take(blob);
  };
  for (const auto& [id, row] : *t.jobs)
    named(row.job.input);
  for (const auto& [key, checkpoint] : *t.checkpoints) {
    named(checkpoint.output);
    named(checkpoint.errors);
  }
  for (const auto& [id, row] : *t.runs)
    for (const auto& blob : row.run.blobs)
      named(blob);
}

bool names_same_blobs(const tables& a, const tables& b) {
  return &*a.jobs == &*b.jobs && &*a.checkpoints == &*b.checkpoints && &*a.runs == &*b.runs;
}

std::string why_no_batch(const tables& t, const model_id& model, wall_ms) {
  if (!find(t.models, model))
    return "there is no model '" + model.value + "'";
  const auto* route = find(t.routes, model);
  if (!route || route->route.carried.batch.empty())
    return "nothing carries batch of '" + model.value + "' yet; promote an implementation";
  return {};
}

} // namespace assay::ledger
