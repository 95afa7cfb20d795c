#include "src/consensus/core_library.hpp"
#include "src/consensus/membership.hpp"

#include <algorithm>

namespace assay::consensus {

namespace memory = library_memory;

namespace {

raft_snapshot_metadata metadata_of(const snapshot_mark& mark) {
  return {mark.index, mark.term, memory::to_library(mark.configuration), mark.configuration_index};
}

} // namespace

situation core::library::here() const {
  situation out;
  out.self = how.id;
  out.term = raft_current_term(&raft);
  out.first_index = first_index;
  out.last_index = raft_last_index(&raft);
  out.snapshot_index = snapshot ? snapshot->index : 0;
  out.snapshot_term = snapshot ? snapshot->term : 0;
  out.is_leader = raft_state(&raft) == RAFT_LEADER;
  out.is_candidate = raft_state(&raft) == RAFT_CANDIDATE;
  out.is_installing = installing.has_value();
  out.members = &members;
  return out;
}

result<updates, refusal> core::library::start(started& what) {
  first_index = what.first_index;
  snapshot = what.snapshot;
  if (snapshot) {
    changes[snapshot->configuration_index] = members = snapshot->configuration;
    told = snapshot->configuration_index;
    commit = snapshot->index;
  }
  for (std::size_t i = 0; i < what.entries.size(); ++i)
    if (is_change(what.entries[i]))
      remember_change(first_index + i, what.entries[i].bytes);
  if (!how.guards.tells_changes_again && !changes.empty())
    told = changes.rbegin()->first;

  auto event = event_of(RAFT_START);
  event.start.term = what.hard.term;
  event.start.voted_for = what.hard.vote;
  event.start.start_index = what.first_index;
  raft_snapshot_metadata metadata{};
  if (snapshot) {
    metadata = metadata_of(*snapshot); // The configuration inside passes to the library.
    event.start.metadata = &metadata;
  }
  memory::block entries{what.entries};
  raft_entry* array = nullptr;
  if (entries.count() > 0) {
    // On an error the library frees the array, so it cannot be the vector's.
    array = static_cast<raft_entry*>(raft_malloc(entries.count() * sizeof(raft_entry)));
    check(array != nullptr, "out of memory for the log");
    std::copy_n(entries.entries(), entries.count(), array);
    event.start.entries = array;
    event.start.n_entries = entries.count();
  }
  auto out = run(event);
  if (!out)
    return out;
  entries.free_bytes();
  raft_free(array);
  return out;
}

result<updates, refusal> core::library::receive(message& what) {
  dropped = {};
  if (how.guards.validates)
    if (auto wrong = refuse(what, here())) {
      dropped = *wrong;
      return updates{};
    }
  const auto* late = std::get_if<install_snapshot>(&what.body);
  if (late != nullptr && how.guards.keeps_newer_state && is_older_than_ours(*late, here())) {
    dropped = "a snapshot is older than our own";
    return updates{};
  }
  if (how.guards.orders && !order.take(what)) {
    dropped = "older than a message that came before";
    return updates{};
  }
  std::vector<message> parts;
  auto* probe = std::get_if<append_entries>(&what.body);
  if (probe != nullptr && how.guards.splits_at_changes)
    for (auto& part : split_at_changes(std::move(*probe)))
      parts.push_back({what.from, what.to, what.run, what.sequence, std::move(part)});
  else
    parts.push_back(std::move(what));
  updates out;
  for (auto& part : parts)
    if (auto refused = receive_part(part, out))
      return unexpected{*refused};
  return out;
}

std::optional<refusal> core::library::receive_part(message& part, updates& into) {
  const auto address = std::to_string(part.from);
  std::optional<memory::block> entries;
  auto* probe = std::get_if<append_entries>(&part.body);
  auto* install = std::get_if<install_snapshot>(&part.body);
  if (probe != nullptr && how.guards.skips_compacted)
    skip_compacted(*probe, here());
  auto native = memory::to_library(part);
  native.server_id = part.from;
  native.server_address = address.c_str();
  if (probe != nullptr) {
    entries.emplace(probe->entries);
    native.append_entries.entries = entries->entries();
    native.append_entries.n_entries = entries->count();
    answers_older_term = probe->term < raft_current_term(&raft);
  }
  if (install != nullptr) {
    native.install_snapshot.conf = memory::to_library(install->mark.configuration);
    answers_older_term = install->term < raft_current_term(&raft);
  }
  auto event = event_of(RAFT_RECEIVE);
  event.receive.message = &native;
  auto refused = run_into(event, into); // Bytes that made no update were freed by the library.
  answers_older_term = false;
  if (probe != nullptr || install != nullptr)
    heard_leader = now;
  return refused;
}

result<updates, refusal> core::library::submit(submitted& what) {
  // A refused change would leave the entries before it in the library's log, unknown to our disk.
  if (what.entries.size() > 1 && std::any_of(what.entries.begin(), what.entries.end(), is_change))
    return unexpected{refusal::change_not_alone};
  for (const auto& e : what.entries)
    if (is_change(e) && !decode_configuration(e.bytes))
      return unexpected{refusal::malformed};
  if (what.entries.empty())
    return unexpected{refusal::invalid};
  if (how.guards.changes_one && is_change(what.entries.front()) && raft_state(&raft) == RAFT_LEADER)
    if (!is_one_change(members, *decode_configuration(what.entries.front().bytes)))
      return unexpected{refusal::malformed};
  for (auto& e : what.entries)
    e.term = raft_current_term(&raft); // The library takes any term and then never commits.
  memory::block entries{what.entries};
  auto event = event_of(RAFT_SUBMIT);
  event.submit.entries = entries.entries();
  event.submit.n = entries.count();
  auto out = run(event);
  if (!out)
    entries.free_bytes();
  return out;
}

result<updates, refusal> core::library::note_snapshot(snapshot_taken& what) {
  const auto& mark = what.mark;
  bool is_held = mark.index >= first_index && mark.index <= raft_last_index(&raft);
  bool is_newer = !snapshot || mark.index > snapshot->index;
  if (!is_held || !is_newer || installing || mark.term == 0 || mark.configuration.empty())
    return unexpected{refusal::invalid};
  snapshot = mark;
  changes.erase(changes.begin(), changes.lower_bound(mark.configuration_index));
  if (mark.index > what.trailing)
    first_index = std::max(first_index, mark.index - what.trailing + 1);
  auto event = event_of(RAFT_SNAPSHOT);
  event.snapshot.metadata = metadata_of(mark);
  event.snapshot.trailing = what.trailing;
  return run(event);
}

result<updates, refusal> core::library::note_install() {
  if (!installing)
    return unexpected{refusal::invalid};
  auto event = event_of(RAFT_PERSISTED_SNAPSHOT);
  event.persisted_snapshot.metadata = *installing; // Its configuration passes to the library.
  event.persisted_snapshot.last = true;
  installing.reset();
  return run(event);
}

} // namespace assay::consensus
