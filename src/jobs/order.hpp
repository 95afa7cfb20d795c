#pragma once
// Which job goes next, and how many of its requests may be in flight: priority, then the project
// that used least of late, then age. Interactive traffic comes first: batch gets what it leaves.

#include "src/jobs/job.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace assay::jobs {

struct waiting_job {
  job_id id;
  project_id project;
  jobs::priority priority = priority::normal;
  wall_ms submitted_at;
  std::uint32_t items_left = 0;
};

/// Usage of late in thousandths of items, halved every `half_life`.
class usage {
public:
  static constexpr std::chrono::milliseconds half_life = std::chrono::hours{1};

  void add(const project_id& project, std::uint64_t items, wall_ms now);
  std::uint64_t of(const project_id& project, wall_ms now) const;

private:
  struct account {
    std::uint64_t thousandths = 0;
    wall_ms at;
  };
  std::map<project_id, account> accounts_;
};

struct placed_job {
  job_id id;
  std::uint32_t position = 1;
  std::string why; ///< Why it stands where it stands, for `assay job show`.
};

/// Total and the same for the same input: ties end at the job's id.
std::vector<placed_job> order(const std::vector<waiting_job>& jobs, const usage& used, wall_ms now);

/// Slots of the implementations that may serve batch of one model, as an ingress sees them.
struct slots_seen {
  std::uint32_t slots = 0;
  std::uint32_t interactive_in_flight = 0;
  std::uint32_t interactive_waiting = 0;
};

/// Batch requests that may be in flight together, over all jobs of the model. Nothing while
/// interactive waits; else what it leaves, less one slot that stays free for it when there are two
/// or more.
std::uint32_t batch_window(const slots_seen& seen);

} // namespace assay::jobs
