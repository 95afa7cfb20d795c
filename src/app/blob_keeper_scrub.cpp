// What a keeper does about blobs whose copy here is not what it was.

#include "src/app/blob_keeper.hpp"
#include "src/base/log.hpp"
#include "src/base/peer_limits.hpp"

namespace assay::app {

/// A copy that is not what it was is fetched anew, from whoever has a sound one.
void blob_keeper::read_again(steady_time now) {
  auto tables = options_.reads_again ? named() : nullptr;
  auto found = tables ? scrub_.look(*tables, now) : std::nullopt;
  if (!found)
    return;
  const bool is_still_to_come = found->wrong && found->wrong->kind == problem_kind::not_found
                                && options_.fetches_all && !here_.contains(found->blob);
  {
    std::lock_guard hold{mutex_};
    scrub_rounds_ = scrub_.rounds();
    if (is_still_to_come)
      return; // It is missing, which is no damage: `look` asks for it.
    if (!found->wrong)
      damaged_.erase(found->blob);
    else
      damaged_[found->blob] = to_text(*found->wrong);
  }
  if (!found->wrong)
    return;
  log::error("blob_damaged", {{"why", to_text(*found->wrong)}});
  next_ask_ = now;
}

/// Who could not give one may have been away.
void blob_keeper::ask_for_damaged(steady_time now) {
  if (!options_.fetches_all || now < next_ask_)
    return;
  next_ask_ = now + limits::blob_look_every;
  std::size_t asked = 0;
  for (const auto& [blob, why] : damaged())
    if (asked++ < limits::blobs_looked_for)
      carry_out(exchange_.miss(blob, now));
}

std::shared_ptr<const ledger::tables> blob_keeper::named() const {
  std::lock_guard hold{mutex_};
  return tables_;
}

std::map<digest, std::string> blob_keeper::damaged() const {
  std::lock_guard hold{mutex_};
  return damaged_;
}

std::uint64_t blob_keeper::scrub_rounds() const {
  std::lock_guard hold{mutex_};
  return scrub_rounds_;
}

} // namespace assay::app
