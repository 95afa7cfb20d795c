#include "src/consensus/core_library.hpp"

namespace assay::consensus {

namespace memory = library_memory;

result<updates, refusal> core::library::run(raft_event event) {
  updates out;
  if (auto refused = run_into(event, out))
    return unexpected{*refused};
  return out;
}

std::optional<refusal> core::library::run_into(raft_event event, updates& into) {
  // The library must not be re-entered, so its updates' consequences queue up here.
  follow_ups.push_back(event);
  while (!follow_ups.empty()) {
    auto next = follow_ups.front();
    follow_ups.pop_front();
    next.time = now;
    raft_update update{};
    if (int code = raft_step(&raft, &next, &update); code != 0) {
      follow_ups.clear();
      return memory::refusal_of(code);
    }
    take(update, into);
  }
  return {};
}

void core::library::take(const raft_update& update, updates& into) {
  // Each flag alone: the macros lack parentheses.
  const bool has_term = (update.flags & (RAFT_UPDATE_CURRENT_TERM)) != 0;
  const bool has_vote = (update.flags & (RAFT_UPDATE_VOTED_FOR)) != 0;
  if (has_term || has_vote)
    into.hard = hard_state{raft_current_term(&raft), raft_voted_for(&raft)};
  if ((update.flags & (RAFT_UPDATE_ENTRIES)) != 0)
    take_entries(update, into);
  if ((update.flags & (RAFT_UPDATE_SNAPSHOT)) != 0) {
    const auto& m = update.snapshot.metadata;
    installing = m;
    into.install =
      snapshot_mark{m.index, m.term, m.configuration_index, memory::from_library(m.configuration)};
    snapshot = into.install;
    changes = {{m.configuration_index, snapshot->configuration}};
    told = m.configuration_index;
    members = snapshot->configuration;
    first_index = m.index + 1;
  }
  if ((update.flags & (RAFT_UPDATE_MESSAGES)) != 0)
    take_messages(update, into);
  if ((update.flags & (RAFT_UPDATE_STATE)) != 0)
    into.has_role_changed = true;
  if ((update.flags & (RAFT_UPDATE_COMMIT_INDEX)) != 0)
    take_commit(into);
}

void core::library::take_entries(const raft_update& update, updates& into) {
  const auto index = update.entries.index;
  append out{index, memory::copy(update.entries.batch, update.entries.n)};
  raft_free(update.entries.batch[0].batch);
  forget_changes_from(index);
  for (std::size_t i = 0; i < out.entries.size(); ++i)
    if (is_change(out.entries[i]))
      remember_change(index + i, out.entries[i].bytes);
  into.appends.push_back(std::move(out));
}

void core::library::take_messages(const raft_update& update, updates& into) {
  for (unsigned i = 0; i < update.messages.n; ++i) {
    auto out = memory::from_library(update.messages.batch[i]);
    out.from = how.id;
    out.run = how.run;
    out.sequence = ++sequence;
    auto* answer = std::get_if<append_entries_result>(&out.body);
    if (answer != nullptr && answers_older_term && how.guards.repairs_results)
      repair_result(*answer);
    into.messages.push_back(std::move(out));
  }
}

void core::library::take_commit(updates& into) {
  const auto reached = raft_commit_index(&raft);
  if (reached <= commit && how.guards.keeps_commit) // The library's may go back.
    return;
  commit = reached;
  into.commit = commit;
  // Without this event a change never counts as committed, and every later one is refused.
  for (auto at = changes.upper_bound(told); at != changes.end() && at->first <= commit; ++at) {
    auto event = event_of(RAFT_CONFIGURATION);
    event.configuration.index = told = at->first;
    event.configuration.conf = memory::to_library(at->second);
    follow_ups.push_back(event);
  }
}

void core::library::remember_change(std::uint64_t index, std::string_view bytes) {
  auto decoded = decode_configuration(bytes);
  if (!decoded)
    return;
  members = *decoded;
  changes.insert_or_assign(index, *std::move(decoded));
}

/// Overwritten changes never were: the one before them holds again.
void core::library::forget_changes_from(std::uint64_t index) {
  const auto from = changes.lower_bound(index);
  if (from == changes.end())
    return;
  changes.erase(from, changes.end());
  members = changes.empty() ? configuration{} : changes.rbegin()->second;
}

} // namespace assay::consensus
