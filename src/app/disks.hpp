#pragma once
// Whether a leader should hand over because its disk got slow. Pure.
//
// Every record waits for the leader's disk, but of the others' only for the fastest majority's. So
// a leader whose syncs take long while another voter's do not is the wrong one to lead. It hands
// over once, and then not again for a while: where all disks are slow by turns, leadership stays.

#include "src/base/clock.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace assay::app {

/// How long a sync takes of late, by member; only those heard of late. 0: it wrote too little.
using sync_times = std::map<std::uint64_t, std::chrono::milliseconds>;

bool is_slow(std::chrono::milliseconds sync);

/// The fastest of the others, when ours is slow and it is far from that; 0: there is none.
std::uint64_t faster_voter(std::chrono::milliseconds ours, const sync_times& other_voters);

class slow_disk_watch {
public:
  /// To whom to hand over now; 0: to nobody.
  std::uint64_t
  look(steady_time now, std::chrono::milliseconds ours, const sync_times& other_voters);

private:
  std::optional<steady_time> handed_over_;
};

/// For a person; empty while it is not slow. `whose` is "this coordinator" or a member's name.
std::string slow_disk_text(const std::string& whose, std::chrono::milliseconds sync);

} // namespace assay::app
