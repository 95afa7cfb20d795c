#include "src/consensus/core.hpp"

#include "src/base/overloaded.hpp"
#include "src/consensus/core_library.hpp"

#include <algorithm>

namespace assay::consensus {

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
  if (!library_->how.guards.paces_timeouts)
    return raft_timeout(&library_->raft);
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
  // Who votes begins an election and so forgets it. Who does not would name a dead leader for ever.
  // It says nothing while its snapshot is awaited.
  const auto silence = library_->now - library_->heard_leader;
  if (is_leader() || library_->installing || silence < 2 * library_->how.election_timeout_ms)
    return id;
  return 0;
}

std::uint64_t core::last_index() const {
  return raft_last_index(&library_->raft);
}

std::uint64_t core::commit_index() const {
  return library_->commit;
}

std::optional<std::uint64_t> core::match_index(std::uint64_t member) const {
  raft_index out = 0;
  if (!is_leader() || raft_match_index(&library_->raft, member, &out) != 0)
    return {};
  return out;
}

std::uint64_t core::transferee() const {
  return raft_transferee(&library_->raft);
}

catch_up_state core::catch_up(std::uint64_t member) const {
  int status = RAFT_CATCH_UP_NONE;
  if (!is_leader() || raft_catch_up(&library_->raft, member, &status) != 0)
    return catch_up_state::none;
  switch (status) {
  case RAFT_CATCH_UP_RUNNING:
    return catch_up_state::running;
  case RAFT_CATCH_UP_ABORTED:
    return catch_up_state::aborted;
  case RAFT_CATCH_UP_FINISHED:
    return catch_up_state::finished;
  default:
    return catch_up_state::none;
  }
}

const configuration& core::members() const {
  return library_->members;
}

std::string_view core::dropped() const {
  return library_->dropped;
}

} // namespace assay::consensus
