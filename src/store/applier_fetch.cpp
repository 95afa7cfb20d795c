// How the applier takes over the state of another member: page by page beside its own, which stays
// in force until the new one is whole.

#include "src/base/log.hpp"
#include "src/store/applier.hpp"

#include <algorithm>
#include <iterator>

namespace assay::store {

void applier::take_in(arrival what) {
  if (shared_.is_dead())
    return;
  if (what.page.end && what.page.end->index < index_)
    return what.done(false); // Ours is newer by now.
  auto failed = store_incoming(what.page);
  if (failed && failed->is_disk_full) // Until it is tried again the room is for what is in force.
    if (auto stuck = state_.drop_incoming())
      failed = std::move(stuck);
  if (failed && !failed->is_disk_full)
    return shared_.die(failed->text);
  shared_.set_full(commit_point::state, failed.has_value());
  if (!failed && what.page.end)
    adopt(*what.page.end);
  if (!shared_.is_dead())
    what.done(!failed);
}

std::optional<write_failure> applier::store_incoming(const incoming_page& what) {
  std::optional<write_failure> failed;
  if (what.is_first)
    failed = state_.clear_incoming();
  if (!failed)
    failed = state_.write_incoming(what.rows);
  if (!failed && what.end)
    failed = state_.adopt_incoming(what.end->index, what.end->term);
  return failed;
}

/// The disk holds the new state; what waited for its transaction was of the old one.
void applier::adopt(const incoming_page::moment& end) {
  auto readers = std::exchange(open_, {}).readers;
  if (closed_)
    std::ranges::move(closed_->readers, std::back_inserter(readers));
  open_.readers = std::move(readers);
  closed_.reset();
  index_ = end.index;
  term_ = end.term;
  machine_.clear();
  for (const auto& prefix : machine_.loaded_prefixes()) {
    auto loaded = state_.load_rows(prefix, [&](std::string_view key, std::string_view value) {
      return machine_.load(key, value);
    });
    if (!loaded)
      return shared_.die(to_text(loaded.error()));
  }
  log::info("state taken over from another coordinator", {{"index", std::to_string(index_)}});
  shared_.set_applied(index_, machine_.stands().stamped_at);
  shared_.set_state_map_percent(state_.disk()->map_percent());
  shared_.set_view(make_view());
  shared_.publish();
  shared_.set_durable(index_);
  reserve_next();
}

} // namespace assay::store
