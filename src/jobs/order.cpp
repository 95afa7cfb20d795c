#include "src/jobs/order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace assay::jobs {

namespace {

/// Halved for each half-life, in between along a straight line; never negative, never a float.
std::uint64_t decayed(std::uint64_t thousandths, wall_ms from, wall_ms to) {
  const auto half = usage::half_life.count();
  const auto passed = std::max<std::int64_t>(0, to.value - from.value);
  const auto halvings = passed / half;
  if (halvings >= 63)
    return 0;
  const auto rest = static_cast<std::uint64_t>(passed % half);
  const auto value = thousandths >> halvings;
  return value - value / 2 * rest / static_cast<std::uint64_t>(half);
}

std::string why_of(
  std::size_t position,
  const waiting_job& job,
  const waiting_job& before,
  const usage& used,
  wall_ms now
) {
  if (position == 1)
    return "first in the queue";
  if (before.priority != job.priority)
    return fmt::format(
      "behind {}, which is {} and this one {}",
      before.id.value,
      name(before.priority),
      name(job.priority)
    );
  const auto theirs = used.of(before.project, now) / 1'000;
  const auto ours = used.of(job.project, now) / 1'000;
  if (theirs != ours)
    return fmt::format(
      "behind {}: project {} had {} items of late, {} had {}",
      before.id.value,
      before.project.value,
      theirs,
      job.project.value,
      ours
    );
  return fmt::format("behind {}, which was submitted earlier", before.id.value);
}

} // namespace

void usage::add(const project_id& project, std::uint64_t items, wall_ms now) {
  auto& account = accounts_[project];
  account.thousandths = decayed(account.thousandths, account.at, now) + items * 1'000;
  account.at = now;
}

std::uint64_t usage::of(const project_id& project, wall_ms now) const {
  const auto found = accounts_.find(project);
  return found == accounts_.end() ? 0 : decayed(found->second.thousandths, found->second.at, now);
}

std::vector<placed_job>
order(const std::vector<waiting_job>& jobs, const usage& used, wall_ms now) {
  struct ranked {
    std::uint64_t used = 0;
    const waiting_job* job = nullptr;
  };
  std::vector<ranked> all;
  all.reserve(jobs.size());
  for (const auto& job : jobs)
    all.push_back({used.of(job.project, now), &job});
  std::sort(all.begin(), all.end(), [](const ranked& a, const ranked& b) {
    return std::tie(a.job->priority, a.used, a.job->submitted_at, a.job->id)
           < std::tie(b.job->priority, b.used, b.job->submitted_at, b.job->id);
  });
  std::vector<placed_job> placed;
  placed.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    placed.push_back({
      all[i].job->id,
      static_cast<std::uint32_t>(i + 1),
      why_of(i + 1, *all[i].job, *all[i == 0 ? 0 : i - 1].job, used, now),
    });
  return placed;
}

std::uint32_t batch_window(const slots_seen& seen) {
  if (seen.interactive_waiting > 0 || seen.interactive_in_flight >= seen.slots)
    return 0;
  const auto left = seen.slots - seen.interactive_in_flight;
  return seen.slots >= 2 ? left - 1 : left;
}

} // namespace assay::jobs
