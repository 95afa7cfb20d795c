#include "src/app/disks.hpp"

#include "src/base/peer_limits.hpp"

#include <algorithm>

namespace assay::app {

using std::chrono::milliseconds;

bool is_slow(milliseconds sync) {
  return sync > limits::slow_sync;
}

std::uint64_t faster_voter(milliseconds ours, const sync_times& other_voters) {
  if (!is_slow(ours))
    return 0;
  std::uint64_t best = 0;
  auto least = ours / limits::slow_sync_factor;
  for (const auto& [node, sync] : other_voters)
    if (sync > milliseconds{0} && sync <= least && (best == 0 || sync < other_voters.at(best)))
      best = node;
  return best;
}

std::uint64_t
slow_disk_watch::look(steady_time now, milliseconds ours, const sync_times& other_voters) {
  if (handed_over_ && now < *handed_over_ + limits::slow_disk_rest)
    return 0;
  auto to = faster_voter(ours, other_voters);
  if (to != 0)
    handed_over_ = now;
  return to;
}

std::string slow_disk_text(const std::string& whose, milliseconds sync) {
  if (!is_slow(sync))
    return {};
  return "the disk of " + whose + " takes " + std::to_string(sync.count())
         + " ms to sync one write of the ledger; up to " + std::to_string(limits::slow_sync.count())
         + " ms is taken for healthy. Look at what else writes to it, and at the disk itself; a "
           "leader "
           "hands over while another disk is faster";
}

} // namespace assay::app
