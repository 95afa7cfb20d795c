// What goes wrong in a cluster, and who changes its membership meanwhile.

#include "src/base/overloaded.hpp"
#include "tests/simulation/cluster.hpp"

#include <algorithm>

namespace assay::simulation {

using namespace consensus;

namespace {

constexpr std::uint64_t looks_every_ms = 150;

} // namespace

// -- those who change the group -----------------------------------------------------------------

void cluster::administrator_looks() {
  if (!how_.changes_members)
    return;
  time_.after(looks_every_ms, [this] { administrator_looks(); });
  if (!wish_ && !is_calm_ && luck_.happens(250))
    wish_something();
  auto* to = leader();
  if (!wish_ || to == nullptr)
    return;
  if (is_done(*wish_, *to))
    return carried_out();
  const auto* gone = std::get_if<remove_member>(&wish_->how);
  if (gone != nullptr && gone->id == to->id()) {
    (void)to->transfer(0); // Asked again at the next look.
    return;
  }
  (void)to->change(wish_->how);
}

bool cluster::is_done(const wish& what, const coordinator& leads) const {
  if (!leads.member().is_membership_settled())
    return false;
  const auto& now = leads.member().members();
  return std::visit(
    overloaded{
      [&](const add_spare& c) { return find_member(now, c.who.id) != nullptr; },
      [&](const add_standby& c) { return find_member(now, c.who.id) != nullptr; },
      [&](const promote& c) {
        const auto* who = find_member(now, c.id);
        return who != nullptr && who->role == member_role::voter;
      },
      [&](const remove_member& c) { return find_member(now, c.id) == nullptr; },
    },
    what.how
  );
}

void cluster::carried_out() {
  ++out_.changes;
  const auto done = std::exchange(wish_, {})->how;
  if (const auto* added = std::get_if<add_spare>(&done))
    wish_ = wish{promote{added->who.id}};
  if (const auto* gone = std::get_if<remove_member>(&done)) {
    removed_.insert(gone->id);
    machines_.at(gone->id)->crash();
  }
}

/// A fourth or fifth member, one less, or one whose disk is lost: that one never comes back under
/// its id.
void cluster::wish_something() {
  auto* to = leader();
  if (to == nullptr)
    return;
  const auto& now = to->member().members();
  const auto voters = voters_of(now);
  const auto victim = now[luck_.below(now.size())].id;
  if (voters > 3 || (voters == 3 && luck_.happens(300))) {
    wish_ = wish{remove_member{victim}};
    if (luck_.happens(300)) {
      removed_.insert(victim);
      machines_.at(victim)->crash();
    }
    return;
  }
  const auto id = next_id_++;
  add_machine(id).start();
  wish_ = wish{add_spare{{id, std::to_string(id), member_role::spare}}};
}

// -- what goes wrong ----------------------------------------------------------------------------

void cluster::next_fault() {
  if (how_.fault_every_ms == 0)
    return;
  const auto pause = luck_.between(how_.fault_every_ms / 2, how_.fault_every_ms * 3 / 2);
  time_.after(pause, [this, round = round_] {
    if (is_calm_ || round != round_)
      return;
    switch (luck_.below(9)) {
    case 0:
    case 1:
      crash_one();
      break;
    case 2:
      luck_.happens(300) ? crash_all() : crash_one();
      break;
    case 3:
    case 4:
    case 5:
      cut();
      break;
    case 6:
      hurt_a_disk();
      break;
    case 7:
      pause_one();
      break;
    default:
      hand_over();
    }
    next_fault();
  });
}

void cluster::crash_one() {
  if (!how_.has_crashes)
    return;
  auto* known = leader();
  auto& who = known != nullptr && luck_.happens(400) ? *known : somebody();
  if (!who.is_up())
    return;
  who.crash();
  restart_later(who.id(), luck_.between(10, 3'000));
}

/// A power cut.
void cluster::crash_all() {
  for (auto& [id, m] : machines_)
    if (m->is_up()) {
      m->crash();
      restart_later(id, luck_.between(10, 1'000));
    }
}

void cluster::cut() {
  const auto ms = luck_.between(200, 4'000);
  const auto one = somebody().id();
  switch (luck_.below(4)) {
  case 0: { // One way between two.
    network_.cut(one, somebody().id(), ms);
    return;
  }
  case 1: // Hears nobody.
    for (const auto& [id, m] : machines_)
      network_.cut(id, one, ms);
    return;
  case 2: // Is heard by nobody.
    for (const auto& [id, m] : machines_)
      network_.cut(one, id, ms);
    return;
  default: { // Two camps.
    std::map<std::uint64_t, bool> camp;
    for (const auto& [id, m] : machines_)
      camp[id] = luck_.happens(500);
    for (const auto& [a, in_a] : camp)
      for (const auto& [b, in_b] : camp)
        if (in_a != in_b)
          network_.cut(a, b, ms);
  }
  }
}

void cluster::hurt_a_disk() {
  if (!how_.has_disk_faults)
    return;
  auto& on = *disks_.at(somebody().id());
  switch (luck_.below(3)) {
  case 0:
    on.full_until = time_.now() + luck_.between(200, 3'000);
    return;
  case 1:
    on.slow_until = time_.now() + luck_.between(200, 3'000);
    return;
  default:
    on.fails_next = true;
  }
}

void cluster::pause_one() {
  auto& who = somebody();
  if (!who.is_up() || who.is_paused())
    return;
  who.pause();
  time_.after(luck_.between(200, 3'000), [id = who.id(), this] { machines_.at(id)->resume(); });
}

void cluster::hand_over() {
  if (auto* from = leader())
    (void)from->transfer(luck_.happens(500) ? 0 : somebody().id()); // It may well be refused.
}

/// Kills whoever begins something, fills its disk or cuts it off, while it is at it. The
/// rarer the step, the likelier.
void cluster::begins(std::uint64_t id, stage what) {
  if (how_.interrupted == 0 || is_calm_)
    return;
  const unsigned weight = what == stage::committing ? 1 : what == stage::forgetting ? 10 : 50;
  if (!luck_.happens(weight * how_.interrupted))
    return;
  switch (luck_.below(3)) {
  case 0:
    time_.after(luck_.below(4), [this, id] {
      auto& who = *machines_.at(id);
      if (!who.is_up() || is_calm_)
        return;
      who.crash();
      restart_later(id, luck_.between(10, 1'000));
    });
    return;
  case 1:
    disks_.at(id)->full_until = time_.now() + luck_.between(100, 1'000);
    return;
  default: {
    const auto ms = luck_.between(100, 1'500);
    for (const auto& [other, m] : machines_) {
      network_.cut(id, other, ms);
      network_.cut(other, id, ms);
    }
  }
  }
}

/// A voter, up, that is not this one.
coordinator* cluster::another(const coordinator& than) {
  std::vector<coordinator*> out;
  for (const auto& m : than.member().members())
    if (auto at = machines_.find(m.id); m.role == member_role::voter && at != machines_.end())
      if (at->second.get() != &than && at->second->is_up())
        out.push_back(at->second.get());
  return out.empty() ? nullptr : out[luck_.below(out.size())];
}

/// A follower stores and forgets while its answers are lost, so the leader knows less of it than it
/// has. Then a word of the leader is lost, and the first answer that comes through is a refusal.
void cluster::deafen_later() {
  if (how_.deafened_every_ms == 0)
    return;
  const auto pause = luck_.between(how_.deafened_every_ms / 2, how_.deafened_every_ms * 3 / 2);
  time_.after(pause, [this, round = round_] {
    if (is_calm_ || round != round_)
      return;
    auto* from = leader();
    auto* to = from == nullptr ? nullptr : another(*from);
    if (to != nullptr) {
      const auto ms = luck_.between(100, 350);
      const auto before_end = luck_.between(5, 60);
      network_.cut(to->id(), from->id(), ms);
      time_.after(ms - before_end, [this, a = from->id(), b = to->id(), before_end] {
        if (!is_calm_)
          network_.cut(a, b, before_end + luck_.below(5));
      });
    }
    deafen_later();
  });
}

/// Whoever led leads again, two terms later: what it said in the first may still be under way.
void cluster::swap_later() {
  if (how_.swapped_every_ms == 0)
    return;
  const auto pause = luck_.between(how_.swapped_every_ms / 2, how_.swapped_every_ms * 3 / 2);
  time_.after(pause, [this, round = round_] {
    if (is_calm_ || round != round_)
      return;
    auto* first = leader();
    auto* second = first == nullptr ? nullptr : another(*first);
    if (second != nullptr) {
      (void)first->transfer(second->id()); // It may well be refused, now and when it goes back.
      time_.after(luck_.between(50, 400), [a = first, b = second] { (void)b->transfer(a->id()); });
    }
    swap_later();
  });
}

/// Everybody is level and nothing is broken. One member misses a burst; asked to hand over to it,
/// the leader must not give up, and must not do so before it is level.
void cluster::hand_over_behind() {
  constexpr std::uint64_t away_ms = 400;
  constexpr std::uint64_t patience_ms = 1'000;
  auto* from = judge_.failure().empty() ? leader() : nullptr;
  auto* to = from == nullptr ? nullptr : another(*from);
  if (to == nullptr)
    return;
  network_.cut(from->id(), to->id(), away_ms);
  const auto gone_until = time_.now() + away_ms;
  while (judge_.failure().empty() && time_.now() < gone_until) {
    questions_ += 1;
    from->propose({next_proposal(), [](const reply&) {}});
    const auto until = std::min(time_.now() + 4, gone_until);
    while (time_.run_next(until))
      ;
  }
  if (from->transfer(to->id()))
    return judge_.fail("a leader refused to hand over when nothing was wrong");
  const auto end = time_.now() + patience_ms;
  while (judge_.failure().empty() && !to->member().is_leader() && time_.run_next(end))
    ;
  if (!to->member().is_leader())
    judge_.fail("leadership did not go to a member that was behind and could be reached");
}

/// What a broken member could say. Each of these must be refused, so it counts as lost.
void cluster::forge(message& what) {
  const auto far = 1'000'000 + luck_.below(1'000);
  std::visit(
    overloaded{
      [&](request_vote& m) { luck_.happens(500) ? m.candidate += 1 : m.term = 0; },
      [&](request_vote_result& m) { m.term = 0; },
      [&](append_entries& m) {
        if (m.entries.empty())
          m.previous_term = m.previous_index == 0 ? 1 : 0;
        else if (luck_.happens(500))
          m.entries.front().term = 0;
        else
          m.entries.front() = {m.entries.front().term, entry_kind::change, "\1\377"};
      },
      [&](append_entries_result& m) {
        m.rejected = 0;
        m.last_index += far;
      },
      [&](install_snapshot& m) { m.mark.index = 0; },
      [&](timeout_now& m) { m.term = 0; },
    },
    what.body
  );
}

} // namespace assay::simulation
