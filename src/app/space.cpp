#include "src/app/space.hpp"

#include "src/base/limits.hpp"
#include "src/base/log.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace assay::app {

void reader_watch::look(const std::vector<store::open_reader>& all, time now) {
  auto before = std::exchange(since_, {});
  looked_at_ = now;
  for (const auto& one : all) {
    if (one.process == own_)
      continue; // Ours are bounded, and a long export is no mistake.
    const auto key = std::pair{one.process, one.txn};
    const auto known = before.find(key);
    since_.emplace(key, known == before.end() ? now : known->second);
  }
}

std::vector<reader_watch::held> reader_watch::forgotten() const {
  std::vector<held> out;
  for (const auto& [key, since] : since_) {
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(looked_at_ - since);
    if (age < forgotten_after)
      continue;
    if (out.empty() || out.back().process != key.first)
      out.push_back({key.first, age});
    out.back().age = std::max(out.back().age, age);
  }
  return out;
}

std::string map_text(const store::engine_status& now) {
  const auto used = std::max(now.log_map_percent, now.state_map_percent);
  if (used <= map_alarm_percent)
    return {};
  auto text = std::to_string(used) + " % of the ledger's address space is in use here; ";
  text += used > limits::map_use_percent ? "nothing is taken any more"
                                         : "at more than " + std::to_string(limits::map_use_percent)
                                             + " % nothing would be taken any more";
  return text
         + ", reading goes on. Raise `ledger.map_mib` in every coordinator's configuration, and "
           "restart one after the other";
}

std::string forgotten_text(const reader_watch::held& who) {
  return "process " + std::to_string(who.process) + " has read the ledger's files for "
         + std::to_string(who.age.count())
         + " s without an end, and they grow meanwhile: end it if it was forgotten";
}

space_watch::space_watch(const store::ledger_engine& engine)
  : engine_{&engine}, readers_{::getpid()} {}

void space_watch::look() {
  const auto at = std::chrono::steady_clock::now();
  if (at < next_look_)
    return;
  next_look_ = at + every;
  const auto now = engine_->readers();
  std::lock_guard hold{mutex_};
  oldest_lag_ = now.oldest_lag;
  readers_.look(now.all, at);
  const auto all = readers_.forgotten();
  if (!all.empty() && !was_forgotten_)
    log::warn("reader_forgotten", {{"why", forgotten_text(all.front())}});
  was_forgotten_ = !all.empty();
}

std::vector<reader_watch::held> space_watch::forgotten() const {
  std::lock_guard hold{mutex_};
  return readers_.forgotten();
}

std::uint64_t space_watch::oldest_lag() const {
  std::lock_guard hold{mutex_};
  return oldest_lag_;
}

} // namespace assay::app
