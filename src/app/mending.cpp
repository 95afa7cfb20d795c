#include "src/app/mending.hpp"

#include <algorithm>

namespace assay::app {

namespace {

bool is_alone(const store::engine_status& now) {
  return now.members.size() < 2;
}

} // namespace

bool mending::is_due(const store::engine_status& now, bool is_leader_sound, steady_time at) {
  if (is_alone(now) || now.is_leader || now.is_fetching || times_ >= most || at < next_)
    return false;
  if (now.leader_id == 0 || !is_leader_sound)
    return false;
  next_ = at + next_pause_;
  next_pause_ = std::min<std::chrono::seconds>(2 * next_pause_, longest_pause);
  return true;
}

std::string mending::text(const std::string& damage, const store::engine_status& now) const {
  const auto what = "the ledger on this disk is damaged: " + damage;
  if (is_alone(now))
    return what
           + ". There is no other copy to mend it from: stop assayd, look at the disk, and go on "
             "from a backup, or from a copy of the whole directory";
  if (times_ < most)
    return what
           + ". The others are unharmed: a whole state of the leader's takes its place, as soon as "
             "one leads that can give it";
  return what + ", after it was mended " + std::to_string(times_)
         + " times since assayd began. The others are unharmed; take this member out with `assay "
           "cluster remove`, replace its disk, and let it join anew with an empty data directory";
}

} // namespace assay::app
