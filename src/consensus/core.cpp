#include "src/consensus/core.hpp"

#include "src/base/check.hpp"
#include "src/base/overloaded.hpp"
#include "src/consensus/raft_library.hpp"

#include <algorithm>
#include <deque>
#include <map>

namespace assay::consensus {

namespace memory = library_memory;

/// The library's state machine and what must be remembered beside it.
struct core::library {
  explicit library(const settings& how) : how{how} {}
  ~library() { raft_close(&raft, nullptr); }

  result<updates, refusal> start(started& what);
  result<updates, refusal> receive(message& what);
  result<updates, refusal> submit(submitted& what);
  result<updates, refusal> note_snapshot(snapshot_taken& what);
  result<updates, refusal> note_install();
  result<updates, refusal> run(raft_event event);

  std::optional<refusal> receive_part(message& part, updates& into);
  std::optional<refusal> run_into(raft_event event, updates& into);
  void take(const raft_update& update, updates& into);
  void take_entries(const raft_update& update, updates& into);
  void take_messages(const raft_update& update, updates& into);
  void take_commit(updates& into);
  void remember_change(std::uint64_t index, std::string_view bytes);
  situation here() const;

  const settings how;
  // Zeroed: raft_init with no io leaves fields unset. Mutable, for its getters take a non-const
  // pointer.
  mutable ::raft raft{};
  std::uint64_t now = 0;
  std::uint64_t last_timeout = 0;
  std::uint64_t first_index = 1;
  std::uint64_t commit = 0;
  std::uint64_t sequence = 0;
  std::optional<snapshot_mark> snapshot;
  std::optional<raft_snapshot_metadata> installing;
  /// Changes whose commit the library has not been told, by index. After a restart that is every
  /// one in the log.
  std::map<std::uint64_t, configuration> changes;
  configuration members;
  arrival_order order;
  std::deque<raft_event> follow_ups;
  std::string_view dropped;
  bool answers_older_term = false;
};

namespace {

raft_event event_of(raft_event_type type) {
  raft_event out{};
  out.type = type;
  return out;
}

bool is_change(const entry& e) {
  return e.kind == entry_kind::change;
}

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

// -- events -------------------------------------------------------------------------------------

result<updates, refusal> core::library::start(started& what) {
  first_index = what.first_index;
  snapshot = what.snapshot;
  if (snapshot) {
    members = snapshot->configuration;
    commit = snapshot->index;
  }
  for (std::size_t i = 0; i < what.entries.size(); ++i)
    if (is_change(what.entries[i]))
      remember_change(first_index + i, what.entries[i].bytes);

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

// -- one step and what comes out ----------------------------------------------------------------

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
    members = snapshot->configuration;
    changes.clear();
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
  changes.erase(changes.lower_bound(index), changes.end());
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
  if (reached <= commit) // The library's may go back.
    return;
  commit = reached;
  into.commit = commit;
  // Without this event a change never counts as committed, and every later one is refused.
  while (!changes.empty() && changes.begin()->first <= commit) {
    auto event = event_of(RAFT_CONFIGURATION);
    event.configuration.index = changes.begin()->first;
    event.configuration.conf = memory::to_library(changes.begin()->second);
    follow_ups.push_back(event);
    changes.erase(changes.begin());
  }
}

void core::library::remember_change(std::uint64_t index, std::string_view bytes) {
  auto decoded = decode_configuration(bytes);
  if (!decoded)
    return;
  members = *decoded;
  changes.insert_or_assign(index, *std::move(decoded));
}

// -- the public face ----------------------------------------------------------------------------

core::core(std::unique_ptr<library> all) : library_{std::move(all)} {}
core::~core() = default;

result<std::unique_ptr<core>, problem> core::make(const settings& how) {
  auto all = std::make_unique<library>(how);
  auto& raft = all->raft;
  if (raft_init(&raft, nullptr, nullptr, how.id, how.address.c_str()) != 0)
    return unexpected{
      problem{problem_kind::exhausted, "libraft could not be set up: out of memory", "", ""}};
  raft.tracer = nullptr; // The default one formats every message into a static buffer.
  raft_seed(&raft, how.seed);
  raft_set_election_timeout(&raft, how.election_timeout_ms); // Draws the timer: after the seed.
  raft_set_heartbeat_timeout(&raft, how.heartbeat_ms);
  raft_set_install_snapshot_timeout(&raft, how.install_timeout_ms);
  raft_set_max_inflight_entries(&raft, how.inflight_entries_max);
  raft_set_pre_vote(&raft, true);
  return std::unique_ptr<core>{new core{std::move(all)}};
}

result<updates, refusal> core::step(event what, std::uint64_t now_ms) {
  auto& l = *library_;
  l.now = std::max(l.now, now_ms); // One step back makes a leader step down.
  auto simple = [&](raft_event_type type) { return event_of(type); };
  return std::visit(
    overloaded{
      [&](started& e) { return l.start(e); },
      [&](received& e) { return l.receive(e.message); },
      [&](persisted& e) -> result<updates, refusal> {
        if (e.index == 0 || e.index > raft_last_index(&l.raft))
          return unexpected{refusal::invalid};
        auto event = simple(RAFT_PERSISTED_ENTRIES);
        event.persisted_entries.index = e.index;
        return l.run(event);
      },
      [&](timed_out&) {
        l.last_timeout = l.now;
        return l.run(simple(RAFT_TIMEOUT));
      },
      [&](submitted& e) { return l.submit(e); },
      [&](snapshot_taken& e) { return l.note_snapshot(e); },
      [&](snapshot_installed&) { return l.note_install(); },
      [&](transfer_wanted& e) {
        auto event = simple(RAFT_TRANSFER);
        event.transfer.server_id = e.to;
        return l.run(event);
      },
      [&](catch_up_wanted& e) -> result<updates, refusal> {
        bool is_member = std::any_of(l.members.begin(), l.members.end(), [&](const member& m) {
          return m.id == e.member;
        });
        if (!is_leader() || !is_member) // Else the library crashes.
          return unexpected{is_leader() ? refusal::invalid : refusal::not_leader};
        auto event = simple(RAFT_CATCH_UP);
        event.catch_up.server_id = e.member;
        return l.run(event);
      },
    },
    what
  );
}

std::uint64_t core::timeout_ms() const {
  return std::max<std::uint64_t>(
    raft_timeout(&library_->raft), library_->last_timeout + timeout_pace_ms
  );
}

bool core::is_leader() const {
  return raft_state(&library_->raft) == RAFT_LEADER;
}

std::uint64_t core::term() const {
  return raft_current_term(&library_->raft);
}

std::uint64_t core::leader() const {
  raft_id id = 0;
  const char* address = nullptr;
  raft_leader(&library_->raft, &id, &address);
  return id;
}

std::uint64_t core::last_index() const {
  return raft_last_index(&library_->raft);
}

std::uint64_t core::commit_index() const {
  return library_->commit;
}

const configuration& core::members() const {
  return library_->members;
}

std::string_view core::dropped() const {
  return library_->dropped;
}

} // namespace assay::consensus
