#include "src/app/group.hpp"

#include "src/app/allow_list.hpp"
#include "src/app/group_health.hpp"
#include "src/app/member_address.hpp"
#include "src/base/log.hpp"
#include "src/base/overloaded.hpp"
#include "src/base/peer_limits.hpp"

#include <algorithm>
#include <cstdlib>

namespace assay::app {

namespace {

/// Whoever may lead and has the best clock.
std::uint64_t best_voter(clock_offsets all, const consensus::configuration& members) {
  std::erase_if(all, [&](const auto& one) {
    const auto* m = consensus::find_member(members, one.first);
    return !m || m->role != consensus::member_role::voter;
  });
  return best_clock(all);
}

std::string text_of(const problem& why) {
  return why.what.empty() ? std::string{} : to_text(why);
}

} // namespace

std::map<std::uint64_t, std::uint32_t>
known_versions(const std::map<std::uint64_t, member_seen>& seen, const peers::identity& self) {
  std::map<std::uint64_t, std::uint32_t> known{{self.node, self.schema_version}};
  for (const auto& [node, one] : seen)
    known.emplace(node, one.schema_version);
  return known;
}

void note_refusal(member_seen& one, const problem& why, steady_time at) {
  one.why = to_text(why);
  // Of a member that speaks to us all the while this is a copy, and no word about itself.
  auto is_heard = one.clock_told != steady_time{} && at - one.clock_told < limits::clock_told_ages;
  if (why.kind == problem_kind::forbidden && !is_heard)
    one.refused = why.what;
}

void note_reach(member_seen& one, bool is_up, const problem& why) {
  if (!is_up) {
    one.disk = {}; // What comes back says itself how its disk is.
    if (why.kind != problem_kind::forbidden)
      one.refused.clear(); // It may have ended. If it has not, it says hello again.
  }
  one.is_up = is_up;
  one.is_closed_to_us = !is_up && why.kind == problem_kind::forbidden;
  one.why = text_of(why);
}

result<void, problem> group::start(store::ledger_engine& engine) {
  peers::link_options how;
  how.listen = options_.listen;
  how.keys = keys_;
  how.self = options_.self;
  peers::link_events events{
    .message = [this](auto node, peers::message said) { hear(node, std::move(said)); },
    .up = [this](auto node, auto lane) { note(node, lane, true, {}); },
    .down = [this](auto node, auto lane, const problem& why) { note(node, lane, false, why); },
    .greeted =
      [this](const peers::hello& said) {
        std::lock_guard hold{mutex_};
        seen_[said.node].schema_version = said.schema_version;
        seen_[said.node].refused.clear();
      },
    .refused =
      [this](auto node, const problem& why) {
        log::warn("peer_refused", {{"node", std::to_string(node)}, {"why", to_text(why)}});
        std::lock_guard hold{mutex_};
        note_refusal(seen_[node], why, std::chrono::steady_clock::now());
      },
  };
  auto started = peers::peer_links::start(std::move(how), std::move(events));
  if (!started)
    return unexpected{at_key(started.error(), "peers.listen")};
  links_ = std::move(*started);
  sending_ = links_.get();
  {
    std::unique_lock hold{engine_mutex_};
    engine_ = &engine;
  }
  learn(*std::static_pointer_cast<const ledger::tables>(engine.current()->tables));
  return {};
}

void group::stop() {
  std::unique_lock hold{engine_mutex_};
  engine_ = nullptr;
}

void group::learn(const ledger::tables& tables) {
  auto self = options_.self.node;
  auto is_named = std::ranges::any_of(tables.head.members, [self](const ledger::member& m) {
    return m.id == self;
  });
  // A newcomer's ledger says nothing of it yet, and one that was removed has nobody to speak to.
  auto is_behind = tables.head.last_member < self;
  auto next = is_named    ? peers_of(tables, self)
              : is_behind ? options_.first_peers
                          : std::vector<peers::peer>{};
  auto* links = sending_.load();
  std::lock_guard hold{mutex_};
  grace_.hold(peers_, next, std::chrono::steady_clock::now());
  if (links == nullptr || next == peers_)
    return;
  peers_ = next;
  std::erase_if(seen_, [&](const auto& one) {
    return std::ranges::find(next, one.first, &peers::peer::node) == next.end();
  });
  for (const auto& wrong : links->set_peers(std::move(next)))
    log::error("peer_left_out", {{"why", to_text(wrong)}});
}

result<void, problem> group::change_keys(const fabric::key_pair& keys) {
  if (keys.shared == keys_.shared && !is_deaf_)
    return {};
  keys_ = keys;
  auto done = links_ ? links_->change_keys(keys) : result<void, problem>{};
  is_deaf_ = !done;
  return done;
}

void group::step(const ledger::tables& wanted, const store::engine_status& now) {
  if (!now.is_leader || std::chrono::steady_clock::now() < next_step_)
    return;
  auto reached = [this](std::uint64_t node) { return is_reached(node); };
  auto change = next_change(
    wanted.head.members,
    {now.server_id, now.members, reached, last_promoted_, now.is_membership_settled}
  );
  if (!change)
    return;
  // Catching up takes its time, and the group counts as settled meanwhile. A removal before that
  // may be refused, and is asked for again.
  if (const auto* raised = std::get_if<consensus::promote>(&*change))
    last_promoted_ = raised->id;
  if (std::holds_alternative<consensus::promote>(*change) || !now.is_membership_settled)
    next_step_ = std::chrono::steady_clock::now() + limits::group_change_retry;
  std::shared_lock hold{engine_mutex_};
  if (engine_)
    engine_->change(*change, [](const result<void, problem>& done) {
      if (!done)
        log::warn("group_change_waits", {{"why", to_text(done.error())}});
    });
}

clock_offsets group::offsets() const {
  auto oldest = std::chrono::steady_clock::now() - limits::clock_told_ages;
  clock_offsets all;
  std::lock_guard hold{mutex_};
  for (const auto& [node, one] : seen_)
    if (one.clock_told > oldest)
      all[node] = one.clock_offset_ms;
  return all;
}

void group::compare_clocks(const store::engine_status& now) {
  auto at = std::chrono::steady_clock::now();
  if (at < next_clock_)
    return;
  next_clock_ = at + limits::clock_told_every;
  for (const auto& [node, one] : seen())
    tell(node, peers::clock_told{wall_now()});
  auto all = offsets();
  auto error = own_clock_error(all);
  options_.clock->correct(error);
  std::string fault;
  if (error != 0)
    fault = "the clock of this coordinator is " + std::to_string(std::abs(error) / 1'000) + " s "
            + (error > 0 ? "ahead of" : "behind") + " the others', so it stamps nothing";
  if (fault != now.clock_fault && !fault.empty())
    log::error("clock_off", {{"why", fault}});
  {
    std::shared_lock hold{engine_mutex_};
    if (!engine_)
      return;
    engine_->tell_clock_fault(fault);
  }
  if (!fault.empty() && now.is_leader)
    hand_over(best_voter(all, now.members));
}

sync_times group::syncs_of_voters(const store::engine_status& now) const {
  auto oldest = std::chrono::steady_clock::now() - limits::clock_told_ages;
  sync_times all;
  for (const auto& [node, one] : seen()) {
    const auto* m = consensus::find_member(now.members, node);
    auto votes = m && m->role == consensus::member_role::voter;
    if (votes && one.is_up && one.sync_told > oldest)
      all[node] = one.sync;
  }
  return all;
}

/// Every now and then, and at once when it changed: a leader goes by it.
void group::tell_disk(const store::engine_status& now, bool is_damaged, steady_time at) {
  peers::disk_told disk{now.is_disk_full, is_damaged};
  auto is_due = at >= next_sync_;
  if (!is_due && disk == told_disk_)
    return;
  told_disk_ = disk;
  for (const auto& [node, one] : seen()) {
    if (is_due)
      tell(node, peers::sync_told{now.sync});
    tell(node, disk);
  }
}

void group::compare_disks(const store::engine_status& now, bool is_damaged) {
  auto at = std::chrono::steady_clock::now();
  tell_disk(now, is_damaged, at);
  if (at < next_sync_)
    return;
  next_sync_ = at + limits::clock_told_every;
  if (auto to = now.is_leader ? disk_.look(at, now.sync, syncs_of_voters(now)) : 0; to != 0) {
    log::error("disk_slow", {{"why", slow_disk_text("this coordinator", now.sync)}});
    return hand_over(to);
  }
  if (auto to = at < next_room_hand_over_ ? 0 : roomy_voter(now, seen()); to != 0) {
    next_room_hand_over_ = at + limits::slow_disk_rest;
    log::error("disk_full", {{"why", "another coordinator has room and is to lead"}});
    hand_over(to);
  }
}

void group::watch_room(const ledger::tables& tables, const store::engine_status& now) {
  auto fault = room_fault_of(tables.head, now, seen());
  if (fault != now.room_fault && !fault.empty())
    log::error("room_fault", {{"why", fault}});
  std::shared_lock hold{engine_mutex_};
  if (engine_ && fault != now.room_fault)
    engine_->tell_room_fault(fault);
}

/// Locks the engine in.
void group::hand_over(std::uint64_t to) {
  std::shared_lock hold{engine_mutex_};
  if (engine_)
    engine_->transfer(to, [](const result<void, problem>& done) {
      if (!done)
        log::warn("hand_over_waits", {{"why", to_text(done.error())}});
    });
}

peers::send_outcome group::tell(std::uint64_t to, const peers::message& what) {
  auto* links = sending_.load();
  return links ? links->send(to, what) : peers::send_outcome::down;
}

std::map<std::uint64_t, member_seen> group::seen() const {
  std::lock_guard hold{mutex_};
  return seen_;
}

bool group::is_reached(std::uint64_t node) const {
  std::lock_guard hold{mutex_};
  auto found = seen_.find(node);
  return found != seen_.end() && is_of_use(found->second);
}

bool group::is_sound(std::uint64_t node) const {
  std::lock_guard hold{mutex_};
  auto found = seen_.find(node);
  return found != seen_.end() && is_of_use(found->second) && !found->second.disk.is_damaged;
}

void group::send(consensus::message what) {
  auto to = what.to;
  tell(to, std::move(what));
}

void group::send(store::state_request what) {
  auto to = what.to;
  tell(to, std::move(what));
}

void group::send(store::state_page what) {
  auto to = what.to;
  tell(to, std::move(what));
}

void group::hear(std::uint64_t node, peers::message said) {
  std::shared_lock hold{engine_mutex_};
  if (!engine_)
    return;
  std::visit(
    overloaded{
      [&](consensus::message& m) { engine_->receive(std::move(m)); },
      [&](consensus::state_request& m) { engine_->receive(std::move(m)); },
      [&](consensus::state_page& m) { engine_->receive(std::move(m)); },
      [&](peers::clock_told& m) { // Not const: the last one would take it.
        std::lock_guard hold_seen{mutex_};
        seen_[node].clock_offset_ms = m.at.value - wall_now().value;
        seen_[node].clock_told = std::chrono::steady_clock::now();
      },
      [&](peers::sync_told& m) { // The same.
        std::lock_guard hold_seen{mutex_};
        seen_[node].sync = m.sync;
        seen_[node].sync_told = std::chrono::steady_clock::now();
      },
      [&](peers::disk_told& m) { // The same.
        std::lock_guard hold_seen{mutex_};
        seen_[node].disk = m;
      },
      [&](auto& m) {
        if (options_.other)
          options_.other(node, std::move(m));
      },
    },
    said
  );
}

void group::note(std::uint64_t node, peers::lane lane, bool is_up, const problem& why) {
  if (lane == peers::lane::consensus) {
    std::lock_guard hold{mutex_};
    auto& one = seen_[node];
    if (one.is_up != is_up)
      log::info(
        is_up ? "peer_up" : "peer_down", {{"node", std::to_string(node)}, {"why", text_of(why)}}
      );
    note_reach(one, is_up, why);
  }
  if (options_.reach)
    options_.reach(node, lane, is_up);
}

} // namespace assay::app
